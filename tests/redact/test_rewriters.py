"""Frames redacted by the core are those that the interpreted way gives."""

import pytest

from kcli.grammar import messages
from kcli.redact.messages import FrameRedactor
from kcli.redact.rewriters import LOOKS_AROUND
from kcli.schemas.catalog import catalog
from kcli.schemas.model import Message
from kcli.schemas.secrets import secret_fields
from tests import messages as made
from tests.redact.test_messages import exchanges, redactor


def filled(message: Message, version: int) -> bytes:
    return messages.data(message.name, version).write(made.filled(message, version))


Made = tuple[bytes | None, bytes | None]


def both(frames: FrameRedactor, key: int, version: int, is_response: bool, frame: bytes) -> Made:
    """Redact a frame in the core (None: it can't), and field by field."""
    fast = frames.rewritten(frame, key, version, is_response)
    if is_response:
        return fast, frames.interpreted_response(frame, key, version, b"")
    return fast, frames.interpreted_request(frame)


@pytest.mark.parametrize("keep", [(), ("topics", "hosts", "principals")])
def test_every_message_is_redacted_alike(keep: tuple[str, ...]) -> None:
    frames = redactor(*keep)
    slower = set()
    for api in catalog().apis.values():
        for version in range(api.versions.lo, api.versions.hi + 1):
            header = {"requestApiKey": api.key, "requestApiVersion": version, "correlationId": 7, "clientId": "me"}
            if not api.request_header_version(version):
                del header["clientId"]
            for is_response, name in enumerate((api.request, api.response)):
                head = (messages.response_header if is_response else messages.request_header)(api.key, version)
                frame = head.write({"correlationId": 7} if is_response else header)
                frame += filled(catalog().message(name), version) + b"behind it"
                fast, slow = both(frames, api.key, version, bool(is_response), frame)
                if fast is None:
                    slower.add(name)
                else:
                    assert fast == slow, (name, version)
    assert slower and not slower & {"ProduceRequest", "FetchResponse", "MetadataResponse", "JoinGroupResponse"}
    assert len([name for name in slower if not secret_fields(name)]) < 25, sorted(slower)


def test_fields_that_nobody_knows_go_the_slower_way() -> None:
    frames = redactor()
    for key, version, request, response in exchanges():
        for is_response, frame in enumerate((request, response)):
            fast, slow = both(frames, key, version, bool(is_response), frame)
            assert fast in (None, slow), (key, version)


def test_an_answer_in_the_oldest_version_goes_the_slower_way() -> None:
    frames = redactor()
    frame = bytes(4) + b"\0\x23" + bytes(4)
    assert frames.rewritten(frame, 18, 3, True) is None
    assert frames.rewritten(frame[:-1], 18, 0, True) is None, "it is cut"
    assert frames.rewritten(frame, 18, 0, True) == frame


def test_rules_that_look_around_have_no_rewriter() -> None:
    frames = redactor()
    assert LOOKS_AROUND and frames.rewriter(10, 4, False) is None and frames.rewriter(3, 12, False) is not None
    assert frames.rewriter(3, 999, False) is None
