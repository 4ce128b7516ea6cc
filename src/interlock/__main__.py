"""`python -m interlock` is `ralph`."""

from interlock.faces.cli import main

main()
