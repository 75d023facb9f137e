"""`python -m phalanx` is the command `phalanx`."""

import sys

from phalanx.cli.main import main

sys.exit(main())
