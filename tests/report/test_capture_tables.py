"""What the page on captures is asked of: facts of one reading, of all exchanges or of those that are chosen."""

from pathlib import Path

import pytest

from kcli.capture.filters import Filter
from kcli.diagnose import store as stores
from kcli.diagnose.diagnosis import Captures, diagnose_into, read_facts
from kcli.diagnose.store import FactStore
from kcli.errors import InputError
from kcli.report.capture_tables import PAGE, ask_captures
from tests.capture.decoding import as_values, pieces
from tests.diagnose.captured import DATA
from tests.report.answers import answers_of

pytest.importorskip("duckdb")
COUNT = "SELECT count(*), count(DISTINCT connection) FROM exchange_facts"


@pytest.mark.parametrize("small", [stores.SMALL, 0])
@pytest.mark.parametrize("held", [stores.MOST_BUFFERED, 0])
def test_the_facts_of_a_diagnosis_answer_as_those_of_the_page_alone(
    samples: Path, small: int, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With texts or their numbers in rows, in memory or in files."""
    names = ("old-librdkafka-on-3.9.pcap", "java44-consume-classic.pcap", "java44-txn.pcap")
    paths = [*(samples / name for name in names), DATA / "leader-moves-events.pcap.zst"]
    expected = answers_of(paths)
    monkeypatch.setattr(stores, "SMALL", small)
    monkeypatch.setattr(stores, "MOST_BUFFERED", held)
    with FactStore(PAGE) as store:
        assert diagnose_into(store, Captures([*map(str, paths)])).checked
        answers = ask_captures(store)
        assert (store.words is None) == (small > 0) and bool(store.files) == (held == 0)
    assert (answers.first_ns, answers.last_ns) == (expected.first_ns, expected.last_ns)
    for name, asked in expected.by_name.items():
        assert (asked.columns, asked.rows) == (answers.by_name[name].columns, answers.by_name[name].rows), name
    filled = {name for name, asked in answers.by_name.items() if asked.rows}
    assert filled >= {
        "clients",
        "connections",
        "conversions",
        "groups",
        "leaders",
        "network",
        "refused",
        "sessions",
        "topics",
    }


def test_rows_of_what_is_chosen(samples: Path) -> None:
    path = str(samples / "java44-txn.pcap")
    for chosen in (Filter(apis=frozenset({0})), Filter(topic="pay-in"), Filter(client_id="nobody")):
        with FactStore(PAGE) as store:
            source, _ = read_facts([path], store, lambda count: None, {}, chosen)
            expected = sum(chosen.wants(each) for part in pieces(as_values([path])) for each in part)
            assert store.answer(COUNT)[1][0][0] == expected and source.has_rows == bool(expected)
            [[uses, named]] = store.answer("SELECT count(*), count(software) FROM client_uses")[1]
            assert (uses and named) if expected else not uses


def test_several_captures_are_one(samples: Path) -> None:
    paths = [str(samples / name) for name in ("java44-txn.pcap", "ipv6.pcapng")]
    read: list[int] = []
    with FactStore(PAGE) as store:
        read_facts(paths, store, read.append, {})
        [[exchanges, connections]] = store.answer(COUNT)[1]
    assert sum(read) == sum(Path(path).stat().st_size for path in paths)
    assert exchanges > 57 and connections > 2


def test_damage_is_told_at_the_end(samples: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((samples / "java44-txn.pcap").read_bytes()[:40_000] + bytes(10))
    with FactStore(PAGE) as store:
        _, damage = read_facts([str(cut), str(tmp_path / "missing.pcap")], store, lambda count: None, {})
        assert isinstance(damage, InputError) and store.answer(COUNT)[1][0][0] > 10


def test_a_topic_is_named_where_any_message_has_named_it(samples: Path) -> None:
    topics = answers_of([samples / "java44-txn.pcap"]).by_name["topics"].dicts()
    assert {row["topic"] for row in topics} >= {"pay-in", "pay-out"}


def test_no_capture_has_a_row() -> None:
    with FactStore(PAGE) as store:
        answers = ask_captures(store)
    assert {name: len(asked.rows) for name, asked in answers.by_name.items() if asked.rows} == {"totals": 1}
    assert answers.first_ns is None
