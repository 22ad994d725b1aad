"""Topics that one of two captures has by their ids alone."""

from pathlib import Path

from kcli.compare import compare
from tests.capture.wires import pcap
from tests.rules.test_by_hand import Talk

ORDERS, OTHER, NEW = (f"{letter * 21}A" for letter in "BCD")


def listed(talk: Talk, **names: str) -> Talk:
    """Ask for Metadata, which names topics and their ids."""
    topics = [{"name": name, "topicId": topic_id, "partitions": []} for name, topic_id in names.items()]
    return talk.call(3, 12, {"topics": None}, {"brokers": [], "topics": topics})


def fetched(talk: Talk, *topic_ids: str) -> Talk:
    """Fetch by ids, as since Kafka 3.1."""
    for _ in range(12):
        asked = [{"topicId": each, "partitions": [{"partition": 0, "fetchOffset": 5}]} for each in topic_ids]
        parts = [{"partitionIndex": 0, "highWatermark": 5, "lastStableOffset": 5, "logStartOffset": 0}]
        answered = [{"topicId": each, "partitions": parts} for each in topic_ids]
        talk.call(1, 13, {"maxWaitMs": 500, "topics": asked}, {"responses": answered})
    return talk


def topics_told(folder: Path, before: Talk, after: Talk) -> set[tuple[str, str]]:
    """Return the topics that only one side has, with what is said of them."""
    paths = [folder / "a.pcap", folder / "b.pcap"]
    for path, talk in zip(paths, (before, after), strict=True):
        path.write_bytes(pcap(talk.wire.packets))
    one, other = ([str(path)] for path in paths)
    return {(each.verdict, each.name) for each in compare(one, other).differences if each.kind == "topic"}


def test_a_name_that_one_side_tells_is_that_of_the_other_s_id(tmp_path: Path) -> None:
    named = fetched(listed(Talk(), orders=ORDERS, other=OTHER), ORDERS, OTHER)
    late = fetched(Talk(), ORDERS, OTHER)
    assert topics_told(tmp_path, named, late) == topics_told(tmp_path, late, named) == set()


def test_an_id_that_stays_is_one_topic(tmp_path: Path) -> None:
    assert not topics_told(tmp_path, fetched(Talk(), ORDERS), fetched(Talk(), ORDERS))


def test_an_id_that_nobody_names_is_shown_whole(tmp_path: Path) -> None:
    before, after = fetched(Talk(), ORDERS), fetched(listed(Talk(), other=OTHER), ORDERS, OTHER, NEW)
    assert topics_told(tmp_path, before, after) == {("new", "other"), ("new", f"{NEW} (its id)")}


def test_a_topic_made_anew_is_the_same_by_name(tmp_path: Path) -> None:
    assert not topics_told(
        tmp_path, fetched(listed(Talk(), orders=ORDERS), ORDERS), fetched(listed(Talk(), orders=NEW), NEW)
    )
