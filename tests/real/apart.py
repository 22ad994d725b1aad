"""Controllers of a quorum that can be cut off from each other: each in a network namespace of its own (needs root).

The nodes are joined by a bridge, of which the caller's own namespace is part: what runs here reaches each of them,
whatever they see of each other. With `tls` their listeners have certificates of one authority, which may expire.
"""

import datetime
import ipaddress
import os
import socket
import subprocess
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.real.jvm import check_alive
from tests.real.lab import START_SECONDS, Cluster

__all__ = ["ApartCluster"]

PORT = 9093
Key = ec.EllipticCurvePrivateKey


class ApartCluster(Cluster):
    """Nodes that are controllers and nothing else, 10.77.X.1, 10.77.X.2, ...; X is taken from the process id."""

    def __init__(self, version: str, nodes: int, *, dynamic: bool = True, secured: bool = False) -> None:
        super().__init__(version, nodes, dynamic=dynamic, heap="256m")
        self.secured, self.subnet = secured, f"10.77.{os.getpid() % 250}"
        self.bridge = f"kq{os.getpid()}"
        self.authority: tuple[Key, x509.Certificate] | None = None

    def launch(self) -> Self:
        """Make the network, then start the nodes."""
        ip("link", "add", self.bridge, "type", "bridge")
        ip("addr", "add", f"{self.subnet}.254/24", "dev", self.bridge)
        ip("link", "set", self.bridge, "up")
        for node in self.node_ids:
            space, here, there = self.space(node), f"{self.bridge}a{node}", f"{self.bridge}b{node}"
            ip("netns", "add", space)
            ip("link", "add", here, "type", "veth", "peer", "name", there)
            ip("link", "set", there, "netns", space)
            ip("link", "set", here, "master", self.bridge, "up")
            ip("-n", space, "addr", "add", f"{self.subnet}.{node}/24", "dev", there)
            ip("-n", space, "link", "set", there, "up")
            ip("-n", space, "link", "set", "lo", "up")
        super().launch()
        return self

    def close(self) -> None:
        """Stop everything, and remove the network."""
        super().close()
        for node in self.node_ids:
            subprocess.run(["ip", "netns", "del", self.space(node)], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.bridge], check=False, capture_output=True)

    def space(self, node: int) -> str:
        """The name of a node's namespace."""
        return f"{self.bridge}n{node}"

    def cut(self, one: Collection[int], other: Collection[int]) -> None:
        """Let no packet pass between two groups of nodes."""
        self.routes("add", one, other)

    def join(self, one: Collection[int], other: Collection[int]) -> None:
        """Undo `cut`."""
        self.routes("del", one, other)

    def routes(self, verb: str, one: Collection[int], other: Collection[int]) -> None:
        for node, peer in ((a, b) for a in one for b in other):
            for space, address in ((node, peer), (peer, node)):
                ip("-n", self.space(space), "route", verb, "blackhole", f"{self.subnet}.{address}/32")

    # -- what a Cluster asks for -------------------------------------------------------------------------------------

    def choose_ports(self) -> None:
        """Take the one port that each node has for itself."""
        self.ports = {"CONTROLLER": [PORT for _ in self.node_ids]}

    def address(self, node: int, listener: str = "CONTROLLER") -> str:
        return f"{self.subnet}.{node}:{PORT}"

    def configure(self, node: int) -> None:
        """Write a node's server.properties."""
        values: dict[str, Any] = {
            "process.roles": "controller",
            "node.id": node,
            "log.dirs": self.home(node) / "data",
            "listeners": f"CONTROLLER://{self.address(node)}",
            "advertised.listeners": f"CONTROLLER://{self.address(node)}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": f"CONTROLLER:{'SSL' if self.secured else 'PLAINTEXT'}",
        }
        where = "bootstrap.servers" if self.dynamic else "voters"
        values[f"controller.quorum.{where}"] = self.addresses("CONTROLLER") if self.dynamic else self.voters
        if self.secured:
            self.certify(node)
            values |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": self.home(node) / "node.pem"}
            values |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": self.ca_file}
        lines = [f"{name}={value}\n" for name, value in sorted(values.items())]
        (self.home(node) / "server.properties").write_text("".join(lines))

    def launcher(self, home: Path) -> list[str]:
        """Run a node in its namespace."""
        return ["ip", "netns", "exec", self.space(int(home.name.removeprefix("node")))]

    def wait(self, nodes: Sequence[int], wanted: int) -> None:
        """Wait until these nodes listen, be there a leader or not."""
        until = time.monotonic() + START_SECONDS
        for node in nodes:
            while not listens(self.address(node)):
                check_alive(self.processes[node], self.home(node) / "out.log", until)

    # -- certificates ------------------------------------------------------------------------------------------------

    @property
    def ca_file(self) -> Path:
        """The certificate of the authority."""
        return self.folder / "ca.pem"

    def certify(self, node: int, days: int = 30) -> None:
        """Give a node a certificate that is good for so many days; -1: it expired yesterday."""
        if self.authority is None:
            key = ec.generate_private_key(ec.SECP256R1())
            self.authority = key, certificate("authority", key, key, None, 30)
            self.ca_file.write_bytes(pem(self.authority[1]))
        issuer_key, issuer = self.authority
        key = ec.generate_private_key(ec.SECP256R1())
        made = certificate(f"{self.subnet}.{node}", key, issuer_key, issuer, days)
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        (self.home(node) / "node.pem").write_bytes(private + pem(made) + pem(issuer))


def listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 2).close()
    except OSError:
        return False
    return True


def ip(*words: str) -> None:
    """Change the network."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {words}: {done.stderr}"


def pem(made: x509.Certificate) -> bytes:
    return made.public_bytes(serialization.Encoding.PEM)


def certificate(name: str, key: Key, issuer_key: Key, issuer: x509.Certificate | None, days: int) -> x509.Certificate:
    """Sign a certificate: of an authority, or of an address."""
    now = datetime.datetime.now(datetime.UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=10))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if issuer is not None:
        names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(name))])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(issuer_key, hashes.SHA256())
