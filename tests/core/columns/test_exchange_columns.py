"""Exchanges as columns: the same text as lines have, and no row half written."""

import json
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import numpy
import pytest

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.kafka.events import Link
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.sinks import Values
from kcli.core.codec.values import uuid_text
from kcli.core.columns.exchange_columns import ExchangeRows
from kcli.pipeline.rows.projections import layout
from tests.capture.decoding import write_lines
from tests.capture.messages import metadata, produce, request, response
from tests.capture.wires import Wire, pcap

SAMPLES = Path(__file__).parents[3] / "samples"
ID, KEPT = "LiM8oXcTSBWR3XF1qnjt6A", "AAAAAAAAAAAAAAAAAAAAAQ"


class Owner(Values):
    """A sink with rows for its compiled half."""

    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, paths: list[str]) -> None:
        super().__init__()
        self.learnt: list[tuple[Any, ...]] = []
        self.forwarded: list[tuple[Any, ...]] = []
        self.walked: list[tuple[Any, ...]] = []
        self.flushes = 0
        self.capture = CaptureDecoder(paths, self)
        self.read, self.engine, self.tally = self.capture.read, self.capture.engine, self.capture.tally

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        super().begin(capture)
        self.bodies = capture.bodies
        self.compiled = self.rows = ExchangeRows(self, forwarded=(12,), rows=4, **self.options)

    def layout(self, _key: int, _version: int) -> None:
        return None

    def partitions(self, *exchange: Any) -> None:
        self.walked.append(exchange)

    def fields(self, _key: int, _version: int) -> None:
        return None

    def voice(self, _link: bytes) -> int:
        return 0

    def heard(self, _link: bytes, voice: int, *_: Any) -> int:
        return voice + 1

    def learn(self, *exchange: Any) -> None:
        self.learnt.append(exchange)

    def more(self, *exchange: Any) -> None:
        self.forwarded.append(exchange)

    def flush(self) -> None:
        self.flushes += 1


class LayoutOwner(Owner):
    """One that wants rows of partitions."""

    def layout(self, key: int, version: int) -> Any:
        return layout(self.bodies, key, version)


def ran(wire: Wire, tmp_path: Path) -> tuple[Owner, dict[str, Any]]:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(wire.packets))
    owner = Owner([str(path)])
    list(owner.read())
    return owner, owner.rows.take_columns()


def texts(column: tuple[bytes, Any]) -> list[str]:
    ends, data = numpy.frombuffer(column[0], numpy.int32), column[1]
    return [bytes(data[start:end]).decode() for start, end in pairwise(ends)]


def numbers(data: bytes, count: int) -> Any:
    return numpy.frombuffer(data, numpy.int64).reshape(-1, count)


def codes(column: tuple[bytes, bytes]) -> list[list[int]]:
    ends, found = numpy.frombuffer(column[0], numpy.int32), numpy.frombuffer(column[1], numpy.int64)
    return [found[start:end].tolist() for start, end in pairwise(ends)]


def test_rows_have_the_text_of_lines(tmp_path: Path) -> None:
    wire = Wire().open()
    for number in range(3):
        wire.client(metadata(number)[0]).server(metadata(number)[1])
    owner, taken = ran(wire.close(), tmp_path)
    rows = numbers(taken["numbers"], 15)
    lines: list[bytes] = []
    write_lines([str(tmp_path / "made.pcap")], lambda data: lines.append(bytes(data)))
    want = [json.loads(line) for line in b"".join(lines).splitlines()]
    for name, key in ("header", "requestHeader"), ("request", "request"), ("response", "response"):
        assert [json.loads(text) for text in texts(taken[name])] == [line[key] for line in want]
    assert [texts(taken["clients"])[place] for place in rows[:, 9]] == ["tester"] * 3
    assert rows[:, 4].tolist() == [0, 1, 2]
    assert (rows[:, 7] / 1000).tolist() == [line["latencyMs"] for line in want]
    assert (texts(taken["links"]), codes(taken["errors"])) == (["10.0.0.2:9092-10.0.0.1:40000"], [[], [], []])
    assert [each[1] for each in owner.learnt] == [3]  # the first taught a topic's name


def test_requests_at_other_times_have_no_row_but_teach_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire().open()
    for number in range(4):
        wire.client(metadata(number)[0]).server(metadata(number)[1])
    _, taken = ran(wire, tmp_path)
    times = numbers(taken["numbers"], 15)[:, 0].tolist()
    monkeypatch.setattr(Owner, "options", {"since": times[1], "until": times[2]})
    owner, kept = ran(wire, tmp_path)
    assert numbers(kept["numbers"], 15)[:, 0].tolist() == times[1:3]
    for name in ("header", "request", "response"):
        assert texts(kept[name]) == texts(taken[name])[1:3]
    assert codes(kept["errors"]) == [[], []] and [each[1] for each in owner.learnt] == [3]
    monkeypatch.setattr(Owner, "options", {"since": times[3] + 1})
    owner, kept = ran(wire, tmp_path)
    assert (kept["numbers"], owner.rows.count, len(owner.learnt)) == (b"", 0, 1)


def test_what_only_the_slower_way_can_leaves_no_trace(tmp_path: Path) -> None:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1][:3] + bytes([0x30]) + metadata(1)[1][4:0x34])
    wire.client(request(3, 9, 2, {"topics": None}, "ÿ")).server(response(3, 9, 2, {})).close()
    owner, taken = ran(wire, tmp_path)
    assert not any(taken[name] for name in ("numbers", "fetched", "produced"))
    assert not any(texts(taken[name]) or taken[name][1] for name in ("header", "request", "response", "errors"))
    assert len(owner.items) == 2


def test_errors_are_noted(tmp_path: Path) -> None:
    partitions = [{"partitionIndex": n, "errorCode": code, "leaderId": -1} for n, code in enumerate((0, 5, -1, 5))]
    answer = response(3, 9, 1, {"topics": [{"errorCode": 0, "name": "t", "partitions": partitions}]})
    _, taken = ran(Wire().open().client(request(3, 9, 1, {"topics": None})).server(answer).close(), tmp_path)
    assert codes(taken["errors"]) == [[5, -1]]


def test_bodies_may_stay_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1]).client(metadata(2)[0]).server(bytes(range(20)))
    monkeypatch.setattr(Owner, "options", {"bodies": False, "parted": False})
    owner, taken = ran(wire.close(), tmp_path)
    assert numbers(taken["numbers"], 15)[:, 4].tolist() == [1]
    assert (texts(taken["request"]), texts(taken["response"]), codes(taken["errors"])) == ([""], [""], [[]])
    assert not owner.learnt and len(texts(taken["header"])) == 1


def test_texts_are_kept_of_the_apis_that_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = response(3, 9, 1, {"topics": [{"errorCode": 3, "name": "t", "partitions": []}]})
    wire = Wire().open().client(request(3, 9, 1, {"topics": None})).server(answer)
    wire.client(request(12, 4, 2, {"groupId": "g"})).server(response(12, 4, 2, {})).close()
    monkeypatch.setattr(Owner, "options", {"texts": {12}})
    _, taken = ran(wire, tmp_path)
    assert [bool(text) for text in texts(taken["request"])] == [False, True]
    assert codes(taken["errors"]) == [[3], []]


def test_without_texts_the_same_is_read_noted_and_learnt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One exchange of each API and version of the samples, and with bytes of it changed or cut off."""
    values = Values()
    names = ("java44-consume-classic.pcap", "java44-txn.pcap", "old-librdkafka-on-3.9.pcap", "sasl-plain-scram.pcap")
    list(CaptureDecoder([str(SAMPLES / name) for name in names], values).read())
    pairs = {each.request_frame[:4]: (each.request_frame, each.response_frame) for each in values.items
             if isinstance(each, Exchange) and each.response_frame}  # fmt: skip
    path = tmp_path / "none.pcap"
    path.write_bytes(pcap([]))
    whole = Owner([str(path)])
    monkeypatch.setattr(Owner, "options", {"texts": ()})
    bare = Owner([str(path)])
    random = Random(7)
    taken = 0
    for asked, answer in pairs.values():
        for number in range(60):
            sides = [asked, answer] if number == 0 else [changed(asked, 8, random), changed(answer, 4, random)]
            came = [each.rows.put(Exchange(Link("a:1", "b:2"), 1, sides[0], 2, sides[1], each.bodies), 0)
                    for each in (whole, bare)]  # fmt: skip
            assert came[0] == came[1], sides
            taken += came[0]
    found = [owner.rows.take_columns() for owner in (whole, bare)]
    for name in ("numbers", "nameless"):
        assert found[0][name] == found[1][name]
    assert codes(found[0]["errors"]) == codes(found[1]["errors"])
    assert len(pairs) > 30 and taken > 20 * len(pairs) and sum(map(len, codes(found[0]["errors"]))) > 100
    assert whole.learnt == bare.learnt and len(whole.learnt) > 1
    assert sorted(whole.bodies.names.missing()) == sorted(bare.bodies.names.missing()) != []


def changed(frame: bytes, start: int, random: Random) -> bytes:
    """Return a frame with a byte or two of its body changed, at times cut."""
    made = bytearray(frame)
    for _ in range(random.randint(0, 2) if len(made) > start else 0):
        made[random.randrange(start, len(made))] = random.choice((0, 1, 2, 3, 0x7F, 0x80, 0xC3, 0xFF))
    return bytes(made[: random.randrange(start, len(made) + 1)] if random.random() < 0.1 else made)


def test_what_nobody_counts_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LayoutOwner, "options", {"counted": False})
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(Wire().open().client(produce(1)[0]).server(produce(1)[1]).close().packets))
    owner = LayoutOwner([str(path)])
    list(owner.read())
    made = owner.rows.take_columns(last=True)
    assert not any(made["ended"][name] for name in ("uses", "runs", "sums"))
    assert len(made["produced"]) > 0 and texts(made["ended"]["links"]) == ["10.0.0.2:9092-10.0.0.1:40000"]


def test_flush_is_called_when_there_is_enough(tmp_path: Path) -> None:
    wire = Wire().open()
    for number in range(9):
        wire.client(metadata(number)[0]).server(metadata(number)[1])
    assert ran(wire.close(), tmp_path)[0].flushes > 0


def test_what_one_exchange_of_apiversions_led_to_the_same_leads_to_again(tmp_path: Path) -> None:
    wires = []
    for port in (40000, 40001):
        wire = Wire(client=("10.0.0.1", port)).open()
        asked = request(18, 3, 1, {"clientSoftwareName": "me", "clientSoftwareVersion": "1"})
        wires.append(wire.client(asked).server(response(18, 3, 1, {"apiKeys": []})).close())
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap([packet for wire in wires for packet in wire.packets]))
    calls = []
    owner = Owner([str(path)])
    owner.heard = lambda link, voice, *_: calls.append(link) or 7  # type: ignore[method-assign,func-returns-value]
    list(owner.read())
    ended = owner.rows.take_columns(last=True)["ended"]
    assert [(link, voice, count) for link, _, voice, _, _, count in numbers(ended["uses"], 6)] == [(0, 7, 1), (1, 7, 1)]
    assert list(ended["voices"].values()) == [7, 7]
    assert len(calls) == 1


def test_connections_share_ends(tmp_path: Path) -> None:
    """Two connections of one client's address, with a server each; then one of IPv6."""
    wires = [Wire(client=("10.0.0.1", 40000 + n), server=(f"10.0.0.{n}", 9092)).open() for n in (2, 3)]
    for wire in wires:
        wire.client(metadata(1)[0]).server(metadata(1)[1]).client(metadata(2)[0]).server(metadata(2)[1]).close()
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap([packet for wire in wires for packet in wire.packets]))
    owner = Owner([str(path)])
    list(owner.read())
    taken = owner.rows.take_columns()
    assert taken["ended"] is None
    links = numbers(taken["numbers"], 15)[::2, 8].tolist()
    assert [texts(taken["ends"])[place] for place in links] == ["10.0.0.1:40002", "10.0.0.1:40003"]
    server_of = numpy.frombuffer(taken["server_of"], numpy.int32)
    assert [texts(taken["servers"])[server_of[place]] for place in links] == ["10.0.0.2:9092", "10.0.0.3:9092"]
    assert texts(owner.rows.take_columns()["links"]) == []
    asked, answer = request(18, 3, 1, {}), response(18, 3, 1, {})
    link = Link("[fe80::2]:9092", "[fe80::1]:4")
    owner.rows.hear(Exchange(link, 1, asked[4:], 2, answer[4:], owner.bodies))
    ended = owner.rows.take_columns(last=True)["ended"]
    assert texts(ended["servers"]) == ["10.0.0.2:9092", "10.0.0.3:9092", "[fe80::2]:9092"]
    assert (texts(ended["addresses"]), len(texts(ended["links"]))) == (["10.0.0.1", "fe80::1"], 3)
    assert numpy.frombuffer(ended["address_of"], numpy.int32).tolist() == [0, 0, 1]
    assert ended["voices"] == {"[fe80::2]:9092-[fe80::1]:4": 1}
    assert numbers(ended["uses"], 6)[:, 5].tolist() == [2, 2]
    assert texts(owner.rows.take_columns(last=True)["ended"]["links"]) == []


def test_ids_without_a_name_and_errors_of_partitions(tmp_path: Path) -> None:
    """Also of topics without a partition, and of those that a fetch forgets."""
    ids = [uuid_text(bytes(15) + bytes([number])) for number in range(1, 5)]
    asked = {"maxWaitMs": 1, "topics": [{"topicId": ids[0], "partitions": [{"partition": 1}]}]}
    asked |= {"forgottenTopicsData": [{"topicId": ids[1], "partitions": [1]}]}
    partitions = [{"partitionIndex": index, "errorCode": 6} for index in (1, 2)]
    answer = {"responses": [{"topicId": ids[2], "partitions": partitions}, {"topicId": ids[3], "partitions": []}]}
    path = tmp_path / "made.pcap"
    wire = Wire().open().client(request(1, 13, 1, asked)).server(response(1, 13, 1, answer))
    path.write_bytes(
        pcap(wire.client(request(1, 13, 2, asked)).server(response(1, 13, 2, {"errorCode": 71})).close().packets)
    )
    owner = LayoutOwner([str(path)])
    list(owner.read())
    taken = owner.rows.take_columns()
    assert codes(taken["errors"]) == [[6], [71]]
    assert sorted(map(uuid_text, owner.bodies.names.missing())) == sorted(ids)
    assert (owner.forwarded, len(taken["fetched"]) // (19 * 8)) == ([], 4)


def test_apis_that_are_forwarded_and_partitions_without_a_layout_go_the_slower_way(tmp_path: Path) -> None:
    wire = Wire().open().client(produce(1)[0]).server(produce(1)[1])
    wire.client(request(12, 4, 2, {"groupId": "g"})).server(response(12, 4, 2, {})).close()
    owner, taken = ran(wire, tmp_path)
    assert ([each[1] for each in owner.walked], [each[1] for each in owner.forwarded]) == ([0], [12])
    assert taken["fetched"] == taken["produced"] == taken["batches"] == b""


def test_rows_with_an_id_that_has_no_name_yet_are_noted(tmp_path: Path) -> None:
    """A Metadata of the cluster's own topic, which has none; two of another, which the answer to the second names."""
    wire = Wire().open()
    known = {"topicId": ID, "name": "orders", "partitions": []}
    for number, (topic_id, topics) in enumerate([(KEPT, []), (ID, []), (ID, [known]), (ID, [])], start=1):
        wire.client(request(3, 12, number, {"topics": [{"topicId": topic_id, "name": None}]}))
        wire.server(response(3, 12, number, {"topics": topics}))
    owner, taken = ran(wire.close(), tmp_path)
    assert numpy.frombuffer(taken["nameless"], numpy.int32).tolist() == [1, 2]
    assert sorted(map(uuid_text, owner.bodies.names.missing())) == [KEPT, ID]


def test_columns_keep_their_memory_when_more_rows_come(tmp_path: Path) -> None:
    """Whoever has taken them may read them later: another thread does."""
    wire, (request_frame, answer) = Wire().open(), metadata(0)
    for _ in range(3):
        wire.client(request_frame).server(answer)
    owner, taken = ran(wire.close(), tmp_path)
    before = {name: texts(taken[name]) for name in ("header", "request", "response")}
    link = Link("10.0.0.2:9092", "10.0.0.1:40000")
    for round_ in range(3):
        for number in range(5):
            other, its_answer = metadata(1000 + 10 * round_ + number)
            assert owner.rows.put(Exchange(link, 1, other[4:], 2, its_answer[4:], owner.bodies), 2)
        later = owner.rows.take_columns()
        assert json.loads(texts(later["header"])[0])["correlationId"] == 1000 + 10 * round_
        if round_:
            del later  # its memory is used again
    assert {name: texts(taken[name]) for name in before} == before
