"""`python -m looseleaf`."""

from looseleaf.cli.app import main

main()
