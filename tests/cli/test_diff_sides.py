"""The fields of what `kcli diff` compares."""

from __future__ import annotations

import pytest

from kcli.cli.diff_sides import batch_side, message_side, unframed
from kcli.errors import DecodeError
from tests.cli.test_coprocess import BATCH
from tests.cli.test_decode_message import FETCH

OPTIONS = {"dialect": None, "api": None, "api_version": None, "secrets": False}


def test_a_message_with_its_header() -> None:
    side = message_side(FETCH, OPTIONS)
    assert side.spans[0].path == "header.requestApiKey" and side.problem == ""
    cut = message_side(FETCH[:-1], OPTIONS)
    assert cut.spans == side.spans[: len(cut.spans)] and "needs 1 byte" in cut.problem
    assert message_side(FETCH + b"x", OPTIONS).spans[-1].path == "_trailing"
    with pytest.raises(DecodeError):
        message_side(b"\x7f\xff\0\0" + bytes(8), OPTIONS)


def test_the_length_in_front_is_none_of_it() -> None:
    assert unframed(len(FETCH).to_bytes(4, "big") + FETCH) == unframed(FETCH) == FETCH


def test_batches() -> None:
    assert batch_side(BATCH, False).problem == ""
    assert batch_side(BATCH[:-1], False).problem
