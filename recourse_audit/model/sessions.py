"""Sessions of the runtime: a sealed file is opened, run, and its failures put into words.

The model and its preprocessing go through the same door, with the same checks: the runtime gets
the bytes that were hashed and nothing else, and every call ends when its time is up or when it asks
for more memory than it may have.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from recourse_audit.errors import LimitError, ModelError
from recourse_audit.model.calls import OutOfTimeError
from recourse_audit.model.files import ModelFiles
from recourse_audit.model.limits import LARGE_OR_HOSTILE, Limits
from recourse_audit.model.memory import is_out_of_memory
from recourse_audit.model.runtime import onnxruntime, runtime_errors

# Every exception class that onnxruntime's binding defines; versions differ in a few of them.
RUNTIME_ERRORS: tuple[type[Exception], ...] = tuple(
    kind
    for kind in vars(runtime_errors).values()
    if isinstance(kind, type) and issubclass(kind, Exception)
)
# pybind11 raises these as well, for example for a message that is not text.
FAILURES: tuple[type[Exception], ...] = (*RUNTIME_ERRORS, ValueError, RuntimeError, MemoryError)
_TYPES = {
    "float": "float32",
    "double": "float64",
    "float16": "float16",
    "int64": "int64",
    "int32": "int32",
    "bool": "bool",
}
_UNKNOWN_OPERATOR = (
    "is not a registered function/op",
    "No Op registered",
    "Could not find an implementation",
)
# Where the runtime looks for data files of a model that it gets as bytes.
_DATA_FOLDER = "session.model_external_initializers_file_folder_path"


def open_session(
    files: ModelFiles, limits: Limits, *, keeps_memory: bool = True
) -> onnxruntime.InferenceSession:
    """Open a session from bytes that were hashed, and from data files that were."""
    path = files.path
    options = onnxruntime.SessionOptions()
    options.enable_cpu_mem_arena = keeps_memory
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    with files.opened() as (content, folder):
        options.add_session_config_entry(_DATA_FOLDER, str(folder))
        try:
            return limits.open(
                lambda: _session(content, options),
                lambda: options.set_load_cancellation_flag(True),
                keeps=keeps_memory,
            )
        except OutOfTimeError:
            raise LimitError(
                f"{path}: {files.what} did not open within {limits.seconds:g} seconds; if it is "
                "only large, allow more with model.timeout or --timeout; otherwise ask for another "
                "export"
            ) from None
        except FAILURES as error:
            if is_out_of_memory(error):
                raise LimitError(
                    f"{path}: {files.what} needs more memory to be opened {limits.memory}; "
                    f"{LARGE_OR_HOSTILE}"
                ) from None
            message = first_line(error)
            if str(folder) in message:
                raise ModelError(
                    f"{path}: refers to data in another file in a way that cannot be accounted "
                    f"for ({message.replace(str(folder), '…')}); save the model as one file"
                ) from None
            if any(words in message for words in _UNKNOWN_OPERATOR):
                raise ModelError(
                    f"{path}: uses an operator that onnxruntime does not have ({message}); export "
                    "it with standard operators"
                ) from None
            raise ModelError(
                f"{path}: is not an ONNX model that onnxruntime can open, or it was cut short "
                f"({message}); export or copy it again"
            ) from None


def _session(content: bytes, options: onnxruntime.SessionOptions) -> onnxruntime.InferenceSession:
    session = onnxruntime.InferenceSession(
        content,
        options,
        providers=["CPUExecutionProvider"],
        # Otherwise active dropout between two layers is removed and never noticed.
        disabled_optimizers=["EliminateDropout"],
        # There is nothing to fall back to, and the attempt is printed on stdout.
        enable_fallback=0,
    )
    # A damaged file may contain names that are not text.
    _ = [(port.name, port.shape) for port in (*session.get_inputs(), *session.get_outputs())]
    return session


def run_session(
    session: onnxruntime.InferenceSession,
    names: Sequence[str],
    feeds: Mapping[str, NDArray[Any]],
    limits: Limits,
    *,
    keeps: bool = True,
) -> list[NDArray[Any]]:
    """Run a session once, within the limits; `keeps` says that it stays open afterwards."""
    options = onnxruntime.RunOptions()

    def run() -> list[NDArray[Any]]:
        answers: list[NDArray[Any]] = session.run(names, feeds, options)
        return answers

    return limits.run(run, lambda: setattr(options, "terminate", True), keeps=keeps)


def element_type(name: str) -> str:
    """The numpy name of what a tensor holds, or the runtime's own where there is none."""
    if not name.startswith("tensor("):
        return name
    inner = name.removeprefix("tensor(").removesuffix(")")
    return _TYPES.get(inner, inner)


def first_line(error: Exception) -> str:
    """The useful part of a runtime message: one line, without its prefix."""
    text = " ".join(str(error).split())
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    # Nobody here can use the place in the runtime's own source code.
    return re.sub(r"\S*onnxruntime_src/\S+:\d+ .*?\) (?=[A-Z])", "", text)[:300].rstrip(". ")
