"""Tables of cases in one test, which names every case that fails and not only the first."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest


def long_after(count: int, values: Sequence[object]) -> list[Any]:
    """The first of the values for `make test`, and those after them for `make test-all`."""
    rest = (pytest.param(value, marks=pytest.mark.long) for value in values[count:])
    return [*values[:count], *rest]


class Cases:
    """Goes on after a case that fails; `assert_sound` names all of them."""

    def __init__(self) -> None:
        self._tried = 0
        self._failures: list[str] = []

    @contextmanager
    def __call__(self, name: object) -> Iterator[None]:
        self._tried += 1
        try:
            yield
        except (AssertionError, pytest.fail.Exception) as error:
            self._failures.append(f"{name}: {str(error)[:500]}")

    def assert_sound(self) -> None:
        """Fail if a case failed, or if there was none."""
        assert self._tried
        assert not self._failures, "\n".join(self._failures)
