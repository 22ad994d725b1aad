"""What a fetcher sends to rebuilt brokers: what was captured, whatever they answer."""

from kcli.replay.sessions.runner import FetchOptions
from tests.replay.sessions.made import fetch
from tests.replay.sessions.test_conducting import run

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)


def test_each_request_is_as_it_was() -> None:
    captured = [
        fetch(0, {T1: 5, U0: 3, T0: 5}, {T0: 9}, granted=7, replica=4),
        fetch(1, {T0: 6}, {T0: 9}, session=(7, 1), granted=7, forgotten={"u": [0]}, replica=4),
        # A client that was asked to begin again, whatever it is told now.
        fetch(2, {T0: 6}, {T0: 9}, session=(7, 0), granted=8, replica=4),
        fetch(3, session=(8, -1), replica=4),
    ]
    captured[0].asked[2] = (T0, (5, 2, 100, 11, 10))
    noting, broker, _ = run(captured, FetchOptions(scale=None))
    sent = [body for key, _, body in broker.requests if key == 1]
    assert [(body["sessionId"], body["sessionEpoch"], body["replicaId"]) for body in sent] == [
        (0, 0, 4),
        (7, 1, 4),
        (7, 0, 4),
        (8, -1, 4),
    ]
    named = [(topic["topic"], each["partition"]) for topic in sent[0]["topics"] for each in topic["partitions"]]
    assert named == [T1, U0, T0]
    (last,) = sent[0]["topics"][2]["partitions"]
    assert (last["fetchOffset"], last["logStartOffset"], last["partitionMaxBytes"]) == (5, 2, 100)
    assert (last["currentLeaderEpoch"], last["lastFetchedEpoch"]) == (11, 10)
    assert [each["topic"] for each in sent[1]["forgottenTopicsData"]] == ["u"]
    assert noting.adopted == []


def test_a_session_that_is_older_is_set_up_first() -> None:
    noting, broker, _ = run([fetch(0, {T0: 5}, {T0: 9, T1: 9}, session=(7, 3), granted=7)], FetchOptions(scale=None))
    assert noting.adopted == [T1]
    (body,) = [body for key, _, body in broker.requests if key == 1]
    assert (body["sessionId"], body["sessionEpoch"]) == (7, 3)
