"""Answers of the report over captures, and a capture whose names are meant to hurt."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kcli.records.builder import build_batch
from kcli.report.asking import Answers, ask_all
from kcli.report.building import TableBuilder
from kcli.report.tables import Tables
from tests.capture.messages import produce, request, response
from tests.capture.wires import Wire, pcap

__all__ = ["HOSTILE", "answers_of", "hostile_capture"]

HOSTILE = (
    "<script>window.broken = 1</script>", "</script><script>window.broken = 2</script>",
    '"><img src=x onerror="window.broken = 3">', "{{ 7 * 7 }}", "${window.broken = 4}", "a\u202eb\x1b[31m", "<!--",
)  # fmt: skip


def answers_of(paths: Sequence[Path], folder: Path, **options: Any) -> Answers:
    """What the report says of captures. folder: where their tables go."""
    for _ in TableBuilder([str(path) for path in paths], str(folder), **options).read():
        pass
    with Tables(folder) as tables:
        tables.derive()
        return ask_all(tables)


def hostile_capture(folder: Path) -> Path:
    """Metadata requests by clients, for topics, and of groups with HOSTILE names."""
    wire = Wire().open()
    for number, name in enumerate(HOSTILE):
        asked = request(3, 0, number, {"topics": [{"name": name}]}, client=name)
        topic = {"errorCode": 3, "name": name, "partitions": []}
        wire.client(asked).server(response(3, 0, number, {"brokers": [], "topics": [topic]}))
        produced = produce(200 + number, records=build_batch([(0, None, b"x", [])]), name=name)
        joining = {
            "groupId": name, "sessionTimeoutMs": 1, "memberId": name, "protocolType": "consumer", "protocols": [],
        }  # fmt: skip
        joined = {"errorCode": 0, "generationId": 1, "protocolName": "", "leader": "", "memberId": name, "members": []}
        wire.client(request(11, 0, 100 + number, joining, client=name)).server(response(11, 0, 100 + number, joined))
        wire.client(produced[0]).server(produced[1])
    wire.close()
    path = folder / "hostile.pcap"
    path.write_bytes(pcap(wire.packets))
    return path
