"""What the core counted over connections, as columns."""

import struct
from datetime import UTC, datetime
from typing import Any

from kcli.capture.audit import ClientProfile
from kcli.pipeline.rows.fact_columns import FactColumns
from kcli.pipeline.writing import stored_schema
from kcli.topic_names import CLUSTER_METADATA, METADATA_ID
from tests.pipeline.rows.test_exchange_columns import column

LINKS = ["a:1-b:2", "[::1]:1-[::2]:3"]
VOICES = [ClientProfile(), ClientProfile("soft", "9", negotiates=True, offered={0: 12, 3: 13, 900: 1})]


def ended(uses: bytes = b"", runs: bytes = b"", sums: bytes = b"") -> dict[str, Any]:
    """Of two connections with one server each."""
    return {
        "uses": uses, "runs": runs, "sums": sums, "links": column(*LINKS), "servers": column("a:1", "[::1]:1"),
        "addresses": column("b", "::2"), "clients": column("c"), "server_of": struct.pack("2i", 0, 1),
        "address_of": struct.pack("2i", 0, 1), "voices": {},
    }  # fmt: skip


def test_uses() -> None:
    """One before the client said who it is; two of one kind; one with the newest version that was offered."""
    numbers = (0, 0, 0, 3, 12, 1), (0, 0, 1, 3, 12, 2), (1, -1, 1, 0, 12, 1)
    made = FactColumns(ended(uses=b"".join(struct.pack("6q", *each) for each in numbers)), VOICES, [None])
    ((table, found),) = made.batches()
    assert (table, found.schema.equals(stored_schema("client_uses"))) == ("client_uses", True)
    assert [tuple(each.values()) for each in found.to_pylist()] == [
        (LINKS[0], "c", "b", None, None, False, 3, 12, 1, True),
        (LINKS[0], "c", "b", "soft", "9", True, 3, 12, 2, True),
        (LINKS[1], None, "::2", "soft", "9", True, 0, 12, 1, False),
    ]


def test_runs_of_answers() -> None:
    numbers = (1, 0, 1, 1, 5, 0, 10, 11, 13, 2, -1, 0), (0, -1, 0, 1, 5, 6, 20, 21, 21, 1, 4, 2)
    made = FactColumns(
        ended(runs=b"".join(struct.pack("12q", *each) for each in numbers)), VOICES, [None, METADATA_ID, "d:4"]
    )
    ((table, found),) = made.batches()
    assert (table, found.schema.equals(stored_schema("outcomes"))) == ("outcomes", True)
    assert [tuple(each.values()) for each in found.to_pylist()] == [
        (LINKS[1], "[::1]:1", "c", "::2", "FETCH", CLUSTER_METADATA, 5, 0, 10, 11, 13, 2, -1, None),
        (LINKS[0], "a:1", None, "b", "PRODUCE", CLUSTER_METADATA, 5, 6, 20, 21, 21, 1, 4, "d:4"),
    ]


def test_sums_of_connections() -> None:
    """One that has ended, and one of which TCP alone has said something."""
    numbers = (0, 5_000, 3_000, 4_000, 3, 1, 1, 10, 20, -1), (-1, 9, 9, 0, 0, 0, 0, 0, 0, 2_000_000)
    made = FactColumns(ended(sums=b"".join(struct.pack("10q", *each) for each in numbers)), VOICES, [None])
    ((table, found),) = made.batches()
    assert (table, found.schema.equals(stored_schema("connection_sums"))) == ("connection_sums", True)
    first, last = (datetime.fromtimestamp(us / 1e6, UTC) for us in (3, 4))
    assert [tuple(each.values()) for each in found.to_pylist()] == [
        (LINKS[0], "c", 5_000, first, last, 3, 1, 1, 10, 20, None),
        (LINKS[1], None, None, None, None, 0, 0, 0, 0, 0, 2.0),
    ]


def test_no_rows_no_batch() -> None:
    assert list(FactColumns(ended(), VOICES, [None]).batches()) == []
