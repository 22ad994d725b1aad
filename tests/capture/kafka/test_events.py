"""Events as values and as lines."""

import json

from kcli.capture.kafka.events import Event


def test_an_event_as_a_line() -> None:
    event = Event("gap", "a:1-b:2", 0, 5, 6, "not there", "client", data=b"\0")
    assert json.loads(event.line()) == {
        "event": "gap", "connection": "a:1-b:2", "timestamp": "1970-01-01T00:00:00.000000Z", "offset": 5, "bytes": 6,
        "reason": "not there", "sender": "client", "base64": "AA==",
    }  # fmt: skip
    assert "file" in Event("truncated", None, 0, 5, 6, "cut", file="x").as_dict()
