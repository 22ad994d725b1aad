"""tshark with the same key log: every exchange that it decodes, kcli decodes."""

import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kcli.capture.api import read_capture
from kcli.capture.kafka.exchange import Exchange
from tests.capture.wires import DATA, SAMPLES
from tests.processes import ended

COMPLAINTS = {"kafka.unsupported_api_version", "kafka.request_missing"}


class Message(NamedTuple):
    """client: its port; fine: tshark has nothing to say against it."""

    client: int
    correlation_id: int
    is_request: bool
    fine: bool


def messages_of(capture: Path, key_log: Path, ports: set[int]) -> Iterator[Message]:
    """What tshark makes of the connections to these ports."""
    decode = [word for port in ports for word in ("-d", f"tcp.port=={port},tls", "-d", f"tls.port=={port},kafka")]
    keys = ["-o", f"tls.keylog_file:{key_log}"]
    command = ["tshark", "-r", str(capture), *keys, *decode, "-Y", "kafka", "-T", "pdml"]
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)) as process:
        for _, packet in ElementTree.iterparse(process.stdout or b""):
            if packet.tag == "packet":
                yield from messages_in(packet, ports)
                packet.clear()
    assert process.returncode == 0


def messages_in(packet: ElementTree.Element, ports: set[int]) -> Iterator[Message]:
    ends = [int(each.get("show", "")) for each in packet.iterfind(".//field[@name='tcp.port']")]
    client = next(port for port in ends if port not in ports)
    protocols = packet.findall("proto")
    for at, protocol in enumerate(protocols):
        values = {each.get("name"): each.get("show", "") for each in protocol.iter("field")}
        if protocol.get("name") == "kafka" and "kafka.correlation_id" in values:
            malformed = [each.get("name") for each in protocols[at + 1 : at + 2]] == ["_ws.malformed"]
            fine = not malformed and not COMPLAINTS & values.keys()
            yield Message(client, int(values["kafka.correlation_id"]), "kafka.request.version" in values, fine)


def exchanges_of(capture: Path, key_log: Path) -> list[Exchange]:
    items = read_capture(capture, key_logs=[str(key_log)]).items()
    found = [each for each in items if isinstance(each, Exchange)]
    return [each for each in found if each.request is not None and each.response is not None]


def port_of(end: str) -> int:
    return int(end.rpartition(":")[2])


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("capture", [SAMPLES / "tls.pcap", DATA / "tls-1.2-suites.pcap", DATA / "tls-resumed.pcap"])
def test_what_tshark_decodes_is_decoded(capture: Path) -> None:
    ours = exchanges_of(capture, capture.with_suffix(".keys"))
    ports = {port_of(each.link.server) for each in ours}
    theirs = list(messages_of(capture, capture.with_suffix(".keys"), ports))
    asked, answered = (
        {(each.client, each.correlation_id) for each in theirs if each.fine and each.is_request == which}
        for which in (True, False)
    )
    found = {(port_of(each.link.client), each.correlation_id) for each in ours}
    assert asked & answered <= found
    assert any(each.is_request for each in theirs)
