"""Sequences of live producers: kept where the broker counts as the captured one did, moved where it does not."""

from kcli.replay.produced_batches import Numbered
from kcli.replay.traffic.identities import Scope
from kcli.replay.traffic.producers import Producers
from tests.replay.traffic.test_identities import identities


def producers() -> Producers:
    made = Producers(identities())
    made.identities.learn("producer", 4, 900, Scope())
    made.identities.learn("producer epoch", 0, 7, Scope(producer=4))
    return made


def test_sequences_stay_and_a_batch_sent_again_is_a_duplicate() -> None:
    made = producers()
    assert made.is_known(4)
    sent = [made.renumbered(Numbered(4, 0, at), 5, "t", 0) for at in (0, 5, 5, 10)]
    assert sent == [Numbered(900, 7, at) for at in (0, 5, 5, 10)]
    assert made.renumbered(Numbered(4, 0, 0), 5, "t", 1) == Numbered(900, 7, 0)


def test_a_broker_that_bumps_no_epoch_goes_on_counting() -> None:
    made = producers()
    made.renumbered(Numbered(4, 0, 0), 5, "t", 0)
    assert made.renumbered(Numbered(4, 1, 0), 2, "t", 0) == Numbered(900, 7, 5)
    assert made.renumbered(Numbered(4, 1, 2), 2, "t", 0) == Numbered(900, 7, 7)
    made.identities.learn("producer epoch", 2, 8, Scope(producer=4))
    assert made.renumbered(Numbered(4, 2, 0), 2, "t", 0) == Numbered(900, 8, 0)


def test_a_producer_that_began_before_the_capture_begins_at_0() -> None:
    made = Producers(identities())
    assert not made.is_known(4)
    made.adopt(4, 50, 0)
    assert [made.renumbered(Numbered(4, 3, at), 10, "t", 0) for at in (1000, 1010)] == [
        Numbered(50, 0, 0), Numbered(50, 0, 10),
    ]  # fmt: skip


def test_a_batch_without_a_producer_has_no_numbers() -> None:
    assert Producers(identities()).renumbered(Numbered(9, 0, -1), 1, "t", 0) == Numbered(9, 0, -1)
