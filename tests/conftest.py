"""What all tests share: the cases of property tests, threads, and what is made once per process.

Property tests draw the same cases in every run; to look for new ones,
`HYPOTHESIS_PROFILE=explore python -m pytest`.
"""

import gc
import os
from collections.abc import Iterator
from functools import partial
from types import CodeType
from unittest.mock import patch

import pytest
from hypothesis import settings
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from jinja2.sandbox import ImmutableSandboxedEnvironment

# One thread for each test process, and for what it starts: threads of several processes that wait
# for each other take longer than they save. NumPy is not loaded yet, and reads this once.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

# A test process has so many objects that looking for cycles in them takes a tenth of its time.
gc.set_threshold(50_000, 20, 20)

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


class CompiledTemplates(BytecodeCache):
    """What was compiled before, by name and content: it takes longer than most tests."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._codes[bucket.key, bucket.checksum] = bucket.code


@pytest.fixture(scope="session", autouse=True)
def _compiled_once() -> Iterator[None]:
    environment = partial(ImmutableSandboxedEnvironment, bytecode_cache=CompiledTemplates())
    with patch("recourse_audit.render.templates.ImmutableSandboxedEnvironment", environment):
        yield
