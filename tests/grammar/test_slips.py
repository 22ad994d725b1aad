"""Lengths in front of frames that are written wrongly; what is made of them is in tests/cli/test_message_input.py."""

from __future__ import annotations

import pytest

from kcli.grammar import frames, messages
from kcli.grammar.slips import framings, request_slip

BODY = b"abcdefgh"


def test_right_lengths_are_no_slip() -> None:
    assert framings(len(BODY).to_bytes(4, "big") + BODY) == []
    assert framings(BODY) == framings(b"") == []


@pytest.mark.parametrize(("order", "extra"), [("big", 4), ("little", 0), ("little", 4)])
def test_the_frames_lie_behind_their_lengths(order: str, extra: int) -> None:
    prefix = (len(BODY) + extra).to_bytes(4, "big" if order == "big" else "little")
    (found,) = framings((prefix + BODY) * 2)
    assert found.frames == [(4, 12), (16, 24)]
    assert found.slip.startswith("the length at 0x0 ")


def test_lengths_that_do_not_lead_to_the_end_are_none() -> None:
    assert framings(b"\0\0\0\x0c" + BODY + b"x") == []


def metadata(version: int, header: int, said: int) -> bytes:
    """A Metadata request of a version, behind a header of another, that says it is of a third."""
    head = {"requestApiKey": 3, "requestApiVersion": said, "correlationId": 1, "clientId": "c"}
    body = {"topics": [{"name": "orders"}]}
    return messages.data("RequestHeader", header).write(head) + messages.data("MetadataRequest", version).write(body)


def test_another_version_is_named() -> None:
    assert request_slip(metadata(9, 2, 8)) == "it reads to its end as v9"
    assert request_slip(metadata(8, 1, 9)) == "it reads to its end as v8"


def test_the_other_header_is_named() -> None:
    assert request_slip(metadata(9, 1, 9)) == "it reads to its end behind a request header v1, and v9 has v2"
    assert request_slip(metadata(8, 2, 8)) == "it reads to its end behind a request header v2, and v8 has v1"


def test_what_only_is_cut_has_no_slip() -> None:
    assert request_slip(metadata(9, 2, 9)[:-1]) == ""
    assert (
        request_slip(frames.encode_request({"requestApiKey": 999, "requestApiVersion": 0, "correlationId": 1}, {}))
        == ""
    )
