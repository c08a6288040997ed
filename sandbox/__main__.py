"""Commands of the sandbox: python -m sandbox doctor"""

import sys

from sandbox.doctor import main

if __name__ == "__main__":
    if sys.argv[1:] != ["doctor"]:
        sys.exit("usage: python -m sandbox doctor")
    sys.exit(main())
