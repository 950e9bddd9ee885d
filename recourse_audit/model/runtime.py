"""The only module that imports onnxruntime, after turning its telemetry off.

Since 1.29 its builds for Linux and macOS report to their maker: on import they write an id of the
machine to a file, and for every model that is opened they send its file name, its hashes and more.
An audit is nobody else's business. The variable is read once, when the library is loaded; workers
inherit it.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime  # after the line above, or it has no effect
from onnxruntime.capi import onnxruntime_pybind11_state as runtime_errors

__all__ = ["onnxruntime", "runtime_errors"]
