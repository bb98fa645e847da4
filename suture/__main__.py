"""python -m suture: the command line."""

import sys

from suture.tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
