"""The rule that finds the addresses of brokers in messages."""

from kcli.proxy.rewriting import EndpointPath, endpoint_paths, endpoints_in
from kcli.schemas.catalog import catalog

NODES = EndpointPath(("nodeEndpoints",), "nodeId", "nodeEndpoints[].nodeId")
# Every response that has an endpoint in its newest version. What a new release adds is found without code; look at it,
# and add it here.
KNOWN = {
    "BeginQuorumEpoch": NODES,
    "DescribeCluster": EndpointPath(("brokers",), "brokerId", "brokers[].brokerId"),
    "EndQuorumEpoch": NODES,
    "Fetch": NODES,
    "FetchSnapshot": NODES,
    "FindCoordinator": EndpointPath(("coordinators",), "nodeId", "coordinators[].nodeId"),
    "Metadata": EndpointPath(("brokers",), "nodeId", "brokers[].nodeId"),
    "Produce": NODES,
    "ShareAcknowledge": NODES,
    "ShareFetch": NODES,
    "UpdateRaftVoter": EndpointPath(("currentLeader",), "leaderId", "currentLeader.leaderId"),
    "Vote": NODES,
}


def test_every_response_that_names_brokers() -> None:
    found = {api.name: endpoint_paths(api.response, api.versions.hi) for api in catalog(None).apis.values()}
    assert {name: paths for name, paths in found.items() if paths} == {name: (path,) for name, path in KNOWN.items()}


def test_a_version_without_addresses_has_none() -> None:
    assert endpoint_paths("FetchResponse", 15) == ()
    assert endpoint_paths("FindCoordinatorResponse", 3) == (EndpointPath((), "nodeId", "nodeId"),)


def test_endpoints_may_be_in_arrays_structs_and_the_message_itself() -> None:
    rows = [{"nodeId": 1}, {"nodeId": 2}]
    assert list(endpoints_in({"nodeEndpoints": rows}, NODES)) == rows
    assert list(endpoints_in({"nodeEndpoints": None}, NODES)) == list(endpoints_in({}, NODES)) == []
    assert list(endpoints_in({"currentLeader": {"leaderId": 3}}, KNOWN["UpdateRaftVoter"])) == [{"leaderId": 3}]
    assert list(endpoints_in({"nodeId": 4}, EndpointPath((), "nodeId", "nodeId"))) == [{"nodeId": 4}]
