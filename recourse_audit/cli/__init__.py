"""The command line: parses, calls, prints. A module a group of commands; `program` has them all."""

from recourse_audit.cli.program import main

__all__ = ["main"]
