"""The known name that is most like a wrong one."""

import subprocess
import sys

from kcli.nearest import did_you_mean, nearest, suggestion


def test_the_nearest_name() -> None:
    known = {"nullableVersions": 1, "versions": 2}
    assert nearest("nullableVersion", known) == "nullableVersions"
    assert suggestion("nullableVersion", known) == "; did you mean nullableVersions?"
    assert nearest("colour", known) is None and suggestion("colour", known) == ""
    assert nearest("version", known, 1.0) is None
    assert did_you_mean(None) == "" and did_you_mean("a or b") == "; did you mean a or b?"


def test_only_an_error_loads_the_search() -> None:
    script = "import sys, kcli.nearest; print('difflib' in sys.modules, kcli.nearest.nearest('ack', ['acks']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "acks"]
