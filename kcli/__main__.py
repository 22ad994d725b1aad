"""`python -m kcli`: the command line, as `kcli` is."""

import runpy

runpy.run_module("kcli.cli", run_name="__main__")
