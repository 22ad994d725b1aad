from kcli.snapshots.reading.file_survey import survey
from kcli.snapshots.survey_json import camel, instant, stats_json, survey_json, type_name
from tests.snapshots.files import LAST_431, log_file


def test_a_survey_as_json() -> None:
    """KIP-630's SnapshotSizeBytes and LoadSnapshotLatencyMs, among the rest."""
    file = log_file(LAST_431)
    form = survey_json(survey(memoryview(file.read_bytes()), file.name), stats=True)
    assert (form["kind"], form["endOffset"], form["epoch"], form["state"]) == ("snapshot", 1600, 1, "ready")
    assert form["lastContainedLogTime"] == "2026-11-21T01:16:13.206Z"
    assert form["footer"] == {"version": 0}
    assert form["types"][1] == {"type": "TOPIC_RECORD", "apiKey": 2, "version": 0, "count": 28, "bytes": 1266}
    assert (form["acls"], form["underReplicated"], form["crcsValid"]) == (39, 297, True)
    assert form["stats"]["SnapshotSizeBytes"] == file.stat().st_size
    assert form["stats"]["LoadSnapshotLatencyMs"] > 0


def test_a_segment_has_no_snapshot_s_figures() -> None:
    file = log_file("431-single/n1/__cluster_metadata-0/00000000000000000053.log")
    form = survey_json(survey(memoryview(file.read_bytes()), file.name))
    assert (form["kind"], form["baseOffset"]) == ("log", 53)
    assert "header" not in form
    assert "topics" not in form


def test_generation_is_told_by_the_batches() -> None:
    """KIP-630's GenSnapshotLatencyMs: from the header's time to the footer's."""
    file = log_file(LAST_431)
    assert stats_json(survey(memoryview(file.read_bytes()), file.name))["GenSnapshotLatencyMs"] == 8
    assert stats_json(survey(memoryview(b""), "x"))["GenSnapshotLatencyMs"] is None


def test_words() -> None:
    assert camel("under-replicated") == "underReplicated"
    assert type_name(3) == "PartitionRecord"
    assert type_name(99) == "type 99"
    assert (instant(None), instant(-1), instant(1)) == (None, None, "1970-01-01T00:00:00.001Z")
    assert instant(1 << 62) is None
