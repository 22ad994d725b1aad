"""kcli as `python -m kcli.cli`."""

import sys

from kcli.cli.main import main

sys.exit(main())
