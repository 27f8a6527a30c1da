"""`python -m arcspan` is the command line."""

from arcspan.cli import main

main()
