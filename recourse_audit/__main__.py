"""`python -m recourse_audit` is the command."""

from recourse_audit.cli import main

main()
