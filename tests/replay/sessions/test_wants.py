"""What a fetcher wants of each node, and what changed of it."""

from kcli.replay.sessions.wants import Wants
from kcli.sessions.values import Position

A, B, C = ("t", 0), ("t", 1), ("u", 0)


def made() -> Wants:
    wants = Wants()
    for key, node in ((A, 1), (B, 1), (C, 2)):
        wants.settle(key, node)
    wants.want(A, Position(1))
    wants.want(B, Position(2))
    return wants


def test_what_is_wanted_is_known_by_node() -> None:
    wants = made()
    assert wants.of(1) == {A: Position(1), B: Position(2)}
    assert wants.of(2) == wants.of(3) == {}
    assert (wants.nodes, wants.home_nodes) == ({1}, {1, 2})
    assert wants.partitions() == [A, B]


def test_a_change_is_reported_once() -> None:
    wants = made()
    assert wants.changed(1) == [A, B]
    assert wants.changed(1) == []
    wants.want(B, Position(2))
    assert wants.changed(1) == []
    wants.want(B, Position(3))
    assert wants.drop(A) == Position(1)
    assert wants.changed(1) == [B, A]
    assert wants.drop(A) is None
    assert wants.drop(("unknown", 0)) is None
    assert wants.changed(1) == []


def test_a_partition_moves_to_another_node() -> None:
    wants = made()
    wants.changed(1)
    wants.settle(A, 2)
    wants.settle(B, 1)
    assert (wants.changed(1), wants.changed(2)) == ([A], [A])
    assert (wants.of(1), wants.of(2)) == ({B: Position(2)}, {A: Position(1)})
    wants.settle(B, 2)
    assert (wants.nodes, wants.home_nodes) == ({2}, {2})


def test_only_these_are_kept() -> None:
    wants = made()
    wants.changed(1)
    wants.keep({B, C})
    assert wants.of(1) == {B: Position(2)}
    assert wants.changed(1) == [A]
