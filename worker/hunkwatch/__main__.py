"""``python -m hunkwatch``."""

import sys

from hunkwatch.cli import main

sys.exit(main())
