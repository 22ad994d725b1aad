"""Batches with a wrong checksum, and what may be taken for such."""

import shlex
from pathlib import Path
from zlib import crc32

import pytest

from kcli.cli.main import main
from kcli.diagnose import diagnose
from kcli.finding import WARNING
from tests.capture.wires import pcap
from tests.diagnose.captured import diagnosed, only
from tests.diagnose.captured import told as told_with_figures
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk, found, told

GOOD = batch_bytes([(b"k", b"v" * 100)])
NEXT = bytes(7) + b"\1" + GOOD[8:]  # the offset is not in the checksum
BAD = GOOD[:-5] + b"w" + GOOD[-4:]


def message(value: bytes, *, right: bool) -> bytes:
    """Return a message set of magic 1 with one message."""
    body = b"\1\0" + bytes(8) + b"\xff\xff\xff\xff" + len(value).to_bytes(4, "big") + value
    crc = crc32(body) ^ (0 if right else 1)
    return bytes(8) + (len(body) + 4).to_bytes(4, "big") + crc.to_bytes(4, "big") + body


def read(talk: Talk, records: bytes, offset: int = 0, times: int = 1) -> Talk:
    part = {"partitionIndex": 0, "highWatermark": 900, "records": records}
    asked = {"maxWaitMs": 500, "minBytes": 1, "sessionEpoch": -1,
             "topics": [{"topic": "orders", "partitions": [{"partition": 0, "fetchOffset": offset}]}]}  # fmt: skip
    for _ in range(times):
        talk.call(1, 11, asked, {"responses": [{"topic": "orders", "partitions": [part]}]}, SECOND)
    return talk


def write(talk: Talk, records: bytes, error: int = 0, times: int = 1) -> Talk:
    asked = {"acks": -1, "topicData": [{"name": "orders", "partitionData": [{"index": 0, "records": records}]}]}
    part = {"index": 0, "errorCode": error, "baseOffset": -1 if error else 7}
    for _ in range(times):
        talk.call(0, 9, asked, {"responses": [{"name": "orders", "partitionResponses": [part]}]}, SECOND)
    return talk


@pytest.mark.parametrize("records", [BAD, BAD + NEXT, message(b"v", right=False)], ids=["alone", "first", "magic 1"])
def test_a_batch_that_a_broker_sends_damaged(records: bytes, tmp_path: Path) -> None:
    """A reader asks for it again and again. One that does not compare checksums reads on."""
    careless = read(read(Talk("careless", 41000), records), NEXT, offset=1, times=8)
    finding = told(found(tmp_path, read(Talk("sums"), records, times=8), careless), "corrupt-record",
                   topic="orders", client=["sums"], partition=["orders-0"])  # fmt: skip
    assert finding.text.startswith("orders-0 at offset 0: 1 batch whose checksum is wrong, 9 times from broker ")
    assert "it stops sums (10.0.0.1:40000)" in finding.text and "seek to 1" in finding.advice
    [finding] = found(tmp_path, careless)
    assert finding.severity == WARNING and not finding.evidence["halted"]


def test_the_command_shows_batches_of_a_topic_that_only_has_an_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = "LiM8oXcTSBWR3XF1qnjt6A"
    asked = {"maxWaitMs": 500, "minBytes": 1, "sessionEpoch": -1,
             "topics": [{"topicId": topic, "partitions": [{"partition": 0, "fetchOffset": 0}]}]}  # fmt: skip
    part = {"partitionIndex": 0, "highWatermark": 900, "records": BAD}
    talk = Talk("sums")
    for _ in range(8):
        talk.call(1, 13, asked, {"responses": [{"topicId": topic, "partitions": [part]}]}, SECOND)
    finding = told(found(tmp_path, talk), "corrupt-record", client=["sums"])
    assert main(shlex.split(str(finding.see))[1:]) == 0
    assert "8 rows" in capsys.readouterr().err


@pytest.mark.parametrize(
    "records", [GOOD, GOOD + BAD[:-1], BAD[:80], GOOD + message(b"v", right=True), message(b"v", right=True), b""]
)
def test_whole_batches_and_those_that_a_limit_cuts(records: bytes, tmp_path: Path) -> None:
    assert not found(tmp_path, read(Talk(), records, times=8))


@pytest.mark.parametrize("kept", [0, 60, 200], ids=lambda each: f"{each} bytes")
def test_batches_whose_bytes_are_not_in_the_capture(kept: int, tmp_path: Path) -> None:
    """The packets of answers are cut, or lost; what comes behind them is whole."""
    talk = Talk("reader")
    for number in range(8):
        before = len(talk.wire.packets)
        read(talk, BAD if number % 2 else GOOD)
        answers = [at for at in range(before, len(talk.wire.packets)) if len(talk.wire.packets[at].data) > 200]
        for at in answers[-1:] if number % 2 else ():
            whole = talk.wire.packets[at].data
            talk.wire.packets[at] = talk.wire.packets[at]._replace(data=whole[:kept], length=len(whole))
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(talk.wire.packets))
    made = diagnose([str(path)])
    assert "corrupt-record" not in {each.finding for each in made.findings}


def test_a_batch_that_is_whole_when_it_comes_again_was_damaged_on_its_way(tmp_path: Path) -> None:
    [finding] = found(tmp_path, read(read(Talk(), BAD), GOOD, offset=0, times=3))
    assert finding.finding == "corrupt-record" and ", whole later" in finding.text
    assert "the broker has it whole" in finding.advice


def test_batches_that_a_broker_refuses_as_corrupt(tmp_path: Path) -> None:
    finding = told(found(tmp_path, write(Talk("till"), BAD, 2, times=12)), "corrupt-record", client=["till"])
    assert "12 batches whose checksum is wrong, 12 refused (CORRUPT_MESSAGE); sent by till" in finding.text
    finding = told(found(tmp_path, write(Talk("till"), GOOD, 2, times=3)), "corrupt-record", client=["till"])
    assert "whose checksum is right, 3 all the same refused" in finding.text
    assert not found(tmp_path, write(Talk("till"), BAD, 0, times=12)), "damaged in the capture alone"


def test_a_byte_of_a_segment_was_changed_on_disk() -> None:
    """A Java consumer stands before the batch, librdkafka reads on; what else the capture shows is explained."""
    told_with_figures(only("corrupt-record-disk"), client=["jreader"], topic="cd", partition=["cd-0"])
    assert {each.finding for each in diagnosed("corrupt-record-disk").explained} == {"consumer-stuck"}
