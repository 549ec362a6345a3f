"""`python -m looseleaf.cli`."""

from looseleaf.cli.app import main

main()
