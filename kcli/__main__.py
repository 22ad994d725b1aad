"""`python -m kcli`: the command line, as `kcli` is."""

from __future__ import annotations

import runpy

runpy.run_module("kcli.cli", run_name="__main__")
