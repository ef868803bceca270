"""`python -m farloop` is the `farloop` command."""

from farloop.cli import main

main()
