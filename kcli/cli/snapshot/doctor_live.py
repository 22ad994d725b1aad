"""kcli snapshot doctor HOST:PORT: asks each controller of a quorum on its own port, whether it leads or not."""

import asyncio
import contextlib
from collections.abc import Sequence

from kcli.cli.options.client import configure
from kcli.cli.snapshot.quorum_calls import LEAST_FETCH, describe_quorum
from kcli.client.address import Address
from kcli.client.calls import call
from kcli.client.cluster import Client
from kcli.client.handshake import Session
from kcli.client.properties import ClientConfig
from kcli.errors import CertificateError, NetworkError
from kcli.schemas.apikeys import DESCRIBE_CLUSTER, DESCRIBE_QUORUM, FETCH
from kcli.snapshots.live.fetch_messages import find_body, first_partition
from kcli.snapshots.quorum.answers import ControllerAnswer
from kcli.snapshots.quorum.described import described

CONTROLLERS = 2  # DescribeCluster.endpointType (KIP-919)
PATIENCE = 10.0  # seconds for one controller


def ask_controllers(addresses: Sequence[str], settings: Sequence[str], quiet: bool) -> list[ControllerAnswer]:
    """Ask controllers, and the further ones in their answers."""
    return asyncio.run(ask_all(configure(",".join(addresses), settings, quiet=quiet)))


async def ask_all(config: ClientConfig) -> list[ControllerAnswer]:
    """Ask the bootstrap addresses, then the controllers that their answers name."""
    client = Client(config)
    try:
        answers = list(await asyncio.gather(*(ask_one(client, each) for each in client.bootstrap)))
        known = {address: node for each in answers for address, node in each.controllers.items()}
        more = [Address(*split(each)) for each in known if each not in {answer.address for answer in answers}]
        answers += await asyncio.gather(*(ask_one(client, each) for each in more))
        for each in answers:
            each.node = known.get(each.address, each.node)
        return answers
    finally:
        await client.close()


def split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


async def ask_one(client: Client, address: Address) -> ControllerAnswer:
    """Ask one controller; a failure is in the answer."""
    answer = ControllerAnswer(str(address))
    try:
        async with asyncio.timeout(PATIENCE):
            session = await client.session_at(address)
            await describe(session, answer)
    except TimeoutError:
        answer.error = f"no response in {PATIENCE:.0f} s"
    except NetworkError as error:
        answer.error = str(error).partition(" (is it running?")[0].removeprefix("broker ")
        answer.is_certificate = isinstance(error, CertificateError)
    return answer


async def describe(session: Session, answer: ControllerAnswer) -> None:
    """Ask for the cluster, the quorum and the log. Raises NetworkError."""
    ranges = session.versions.ranges
    if DESCRIBE_CLUSTER in ranges and ranges[DESCRIBE_CLUSTER].hi >= 1:
        body = {"includeClusterAuthorizedOperations": False, "endpointType": CONTROLLERS, "includeFencedBrokers": False}
        with contextlib.suppress(NetworkError):
            cluster = await call(session.connection, DESCRIBE_CLUSTER, session.versions.best(DESCRIBE_CLUSTER), body)
            answer.cluster_id = cluster["clusterId"] or None
            answer.controllers = {f"{each['host']}:{each['port']}": each["brokerId"] for each in cluster["brokers"]}
    if DESCRIBE_QUORUM in ranges:
        cluster = await describe_quorum(session)
        answer.quorum = described(cluster)
        for node in cluster.get("nodes") or ():
            answer.controllers |= {f"{each['host']}:{each['port']}": node["nodeId"] for each in node["listeners"]}
    if answer.quorum is not None:
        answer.leader, answer.epoch = answer.quorum.leader, answer.quorum.epoch
    elif FETCH in ranges and ranges[FETCH].hi >= LEAST_FETCH:
        version = session.versions.best(FETCH)
        part = first_partition(await call(session.connection, FETCH, version, find_body(version, 0, 0, 0))) or {}
        current = part.get("currentLeader") or {}
        answer.leader, answer.epoch = current.get("leaderId", -1), current.get("leaderEpoch", -1)
