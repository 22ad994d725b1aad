import pytest

from kcli.client import fetch_wire
from kcli.client.fetch_wire import Limits, request_body, session_response
from kcli.grammar import messages
from kcli.schemas.catalog import catalog
from kcli.sessions.fetch_exchange import FetchExchange
from kcli.sessions.values import FetchRequest, Position
from tests.replay.sessions.made import fetch

ID = "aaaaaaaaaaaaaaaaaaaaaQ"
VERSIONS = range(catalog().apis[1].versions.lo, catalog().apis[1].versions.hi + 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_says_what_it_can(version: int) -> None:
    topic = ID if version >= 13 else "t"
    request = FetchRequest(
        7,
        3,
        {(topic, 1): Position(5, -1, 99), (topic, 0): Position(6, -1, 98)},
        ((topic, 4), (topic, 2)),
        replica_id=-1,
    )
    body = request_body(request, version, Limits(100, 2, 3000, 1))
    codec = messages.request(1, version)
    data = codec.write(body)
    read, end = codec.read(data)
    assert end == len(data)
    header = {"requestApiVersion": version, "correlationId": 1, "clientId": "c"}
    again = FetchExchange("s", "s-c", header, 0, None).read(read, None)
    assert [(key, (asked[0], asked[2])) for key, asked in again.asked] == [((topic, 1), (5, 99)), ((topic, 0), (6, 98))]
    assert (read["maxWaitMs"], read["minBytes"], again.replica_id) == (100, 2, -1)
    if version >= 3:
        assert again.max_bytes == 3000
    if version >= 4:
        assert again.isolation == 1
    if version >= 7:
        assert (again.session_id, again.session_epoch, again.forgotten) == (7, 3, [(topic, 4), (topic, 2)])


def test_a_response_as_the_session_sees_it() -> None:
    response = session_response(fetch(0, {}, {("t", 0): 17}, granted=4, error=0, part_error=6))
    assert (response.error, response.session_id) == (0, 4)
    (result,) = response.partitions.values()
    assert (result.records_size, result.error, result.high_watermark) == (17, 6, 9)


def test_the_versions_that_fields_begin_with_are_those_of_the_tables() -> None:
    request = catalog().message("FetchRequest")
    [topics] = [each for each in request.fields if each.name == "topics"]
    [partitions] = [each for each in topics.fields if each.name == "partitions"]
    since = {each.name: each.versions.lo for each in (*request.fields, *partitions.fields)}
    assert since["isolationLevel"] == fetch_wire.ISOLATION_SINCE and since["rackId"] == fetch_wire.RACK_SINCE
    assert since["currentLeaderEpoch"] == fetch_wire.LEADER_EPOCH_SINCE
    assert since["lastFetchedEpoch"] == fetch_wire.LAST_EPOCH_SINCE
    assert since["logStartOffset"] == fetch_wire.LOG_START_SINCE and since["maxBytes"] == fetch_wire.MAX_BYTES_SINCE
    assert since["replicaState"] == fetch_wire.REPLICA_STATE_SINCE
