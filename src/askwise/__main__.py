"""`python -m askwise`: the command line, where the installed command is not on the path."""

from askwise.cli import main

main()
