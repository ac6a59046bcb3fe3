"""``python -m nadek``: the command, where no script is on the path."""

from nadek.cli import main

main()
