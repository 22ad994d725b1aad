"""The compiled kernels and the interpreted ones have the same form: either can be what the library runs on."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

from kcli.core import COMPILED


@pytest.mark.parametrize("name", ["batches", "record_values", "downconvert"])
def test_the_interpreted_kernels_have_every_name_of_the_compiled_ones(name: str) -> None:
    interpreted = importlib.import_module(f"kcli.records.reference.{name}")
    compiled = importlib.import_module(f"kcli.core.records.{name}") if COMPILED else interpreted
    public = {n for n in vars(compiled) if not n.startswith("_")} - {"InputError", "REASONS", "dumps"}
    assert {n for n in public if n not in vars(interpreted)} == set()


def test_without_the_core_the_interpreted_kernels_are_taken() -> None:
    code = (
        "import kcli.core; kcli.core.COMPILED = False\n"
        "from kcli.records import kernels\n"
        "from kcli.records import scan, batches_json, build_batch, down_convert\n"
        "data = build_batch([(1, b'k', b'v', ())], 5, codec='lz4')\n"
        "assert kernels.batches.__name__ == 'kcli.records.reference.batches'\n"
        "assert [r.value for b in scan(data) for r in b.records()] == [b'v']\n"
        'assert b\'"value":"v"\' in batches_json(data)\n'
        "assert b''.join(down_convert(data, 1))[16] == 1\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=60)
