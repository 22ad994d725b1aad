"""Error codes are found wherever they stand in a message."""

import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.decoder import decode
from kcli.capture.kafka.error_codes import error_codes
from kcli.capture.statistics import StatisticsSink
from kcli.schemas.catalog import catalog
from tests.capture.decoding import write_lines
from tests.capture.messages import request, response
from tests.capture.wires import Wire, pcap
from tests.messages import every_message, filled


@pytest.mark.parametrize(
    ("message", "codes"),
    [
        ({"errorCode": 0, "throttleTimeMs": 5}, []),
        ({"errorCode": 3, "topics": [{"name": "t", "topicErrorCode": 7}, {"name": "u", "topicErrorCode": 0}]}, [3, 7]),
        ({"partitions": [{"replicas": [1, 2], "errors": [{"errorCode": 6}, {"errorCode": 6}]}]}, [6, 6]),
        ({"names": ["errorCode"], "errorCode": None, "codes": []}, []),
    ],
)
def test_every_code_other_than_0_in_order(message: dict[str, object], codes: list[int]) -> None:
    assert list(error_codes(message)) == codes


def places(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Where error codes stand in a message, each with the struct that it is in."""
    for name, item in list(value.items()) if isinstance(value, dict) else enumerate(value):
        if isinstance(item, (dict, list)):
            yield from places(item)
        elif isinstance(name, str) and name.endswith("rrorCode"):
            yield value, name


def test_a_line_names_an_error_wherever_it_stands_alone(tmp_path: Path) -> None:
    wire, seen = Wire().open(), set()
    expected: list[list[str]] = []
    for message, version in every_message():
        if message.kind != "response" or message.api_key is None or version != message.versions.hi:
            continue
        asked = filled(catalog().message(message.name.removesuffix("Response") + "Request"), version)
        answer = filled(message, version)
        found = list(places(answer))
        for number in range(-1, len(found)):
            for at, (struct, name) in enumerate(found):
                struct[name] = 3 if at == number else 0
            wire.client(request(message.api_key, version, len(expected), asked))
            wire.server(response(message.api_key, version, len(expected), answer))
            expected.append(["UNKNOWN_TOPIC_OR_PARTITION"] if number >= 0 else [])
        seen |= {name for _, name in found}
    path = tmp_path / "errors.pcap"
    path.write_bytes(pcap(wire.close().packets))
    out = io.BytesIO()
    source = write_lines([str(path)], out.write)
    assert source.engine.exchanges == len(expected)  # the core has written all lines
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["errors"] for line in lines] == expected
    assert len(expected) > 150 and len(seen) > 3
    sink = decode([str(path)], StatisticsSink(("error",))).sink
    assert sink.counts.counted == len(expected)  # by the core, which makes no lines then
    counts = {(row.group or {}).get("error"): row.figures.exchanges for row in sink.rows()}
    assert counts == Counter("".join(names) or None for names in expected)
