"""The command line: parses, calls, prints. One file per command; `program` has them all.

Commands import what they need when they run, so that `--help` and `--version` are quick.
"""

from recourse_audit.cli.program import main

__all__ = ["main"]
