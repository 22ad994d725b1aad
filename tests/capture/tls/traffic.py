"""TLS as OpenSSL speaks it: a client and a server of Python's ssl over memory, each flight as bytes, and a key log."""

from __future__ import annotations

import datetime
import ssl
import struct
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from cryptography.x509.oid import NameOID

from tests.capture.wires import Wire

__all__ = ["SUITES_12", "Talk", "sealed", "updated"]

# By OpenSSL's names: each cipher, key exchange by RSA and ECDHE, CBC with encrypt-then-MAC as OpenSSL agrees on.
SUITES_12 = {
    "ECDHE-RSA-AES128-GCM-SHA256": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "ECDHE-RSA-CHACHA20-POLY1305": "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "ECDHE-RSA-AES256-SHA384": "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384",
    "ECDHE-RSA-AES128-SHA": "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "AES256-SHA256": "TLS_RSA_WITH_AES_256_CBC_SHA256",
    "AES128-GCM-SHA256": "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "AES128-CCM": "TLS_RSA_WITH_AES_128_CCM",
    "AES256-CCM8": "TLS_RSA_WITH_AES_256_CCM_8",
}


@cache
def certificate(bits: int = 2048) -> bytes:
    """A key of RSA and a certificate of its own for broker.test, as PEM."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=bits)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "broker.test")])
    start = datetime.datetime(2024, 1, 1)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=36500))
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + made.public_bytes(serialization.Encoding.PEM)


class Talk:
    """One connection on its way, captured by a wire. folder: for the key log. suite: of TLS 1.2, by OpenSSL's name;
    None: TLS 1.3. mtu: bytes of a packet at most. earlier: a talk whose session is resumed. refuses: the end that wants
    a certificate which it trusts, and gets another one.
    """

    def __init__(
        self,
        folder: Path,
        *,
        suite: str | None = None,
        port: int = 40000,
        mtu: int = 60_000,
        earlier: Talk | None = None,
        refuses: int | None = None,
    ) -> None:
        self.key_log = folder / "keys.log"
        self.mtu = mtu
        self.contexts: tuple[ssl.SSLContext, ssl.SSLContext] = (
            contexts(folder, suite, refuses) if earlier is None else earlier.contexts
        )
        client, server = self.contexts
        client.keylog_filename = str(self.key_log)
        self.bios = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in range(2)]
        session = None if earlier is None else earlier.ends[0].session
        self.ends: tuple[ssl.SSLObject, ssl.SSLObject] = (
            client.wrap_bio(*self.bios[0], server_hostname="broker.test", session=session),
            server.wrap_bio(*self.bios[1], server_side=True),
        )
        self.wire = Wire(client=("10.0.0.1", port)).open()

    def secret(self, label: str) -> bytes:
        """The last one of this label in the key log."""
        words = self.key_log.read_text().split()
        return bytes.fromhex([words[at + 2] for at, word in enumerate(words) if word == label][-1])

    def flush(self, sender: int) -> None:
        """Carry over what an end has written."""
        data = self.bios[sender][1].read()
        for at in range(0, len(data), self.mtu):
            self.wire.add(sender, 16, data[at : at + self.mtu])
        self.bios[1 - sender][0].write(data)

    def shake_hands(self) -> Talk:
        """Until both ends are done."""
        done = [False, False]
        while not all(done):
            for sender in range(2):
                try:
                    self.ends[sender].do_handshake()
                    done[sender] = True
                except ssl.SSLWantReadError:
                    pass
                self.flush(sender)
        return self

    def say(self, sender: int, data: bytes) -> Talk:
        """Let an end (0: the client) send data, which the other one reads."""
        while data:
            data = data[self.ends[sender].write(data) :]
        self.flush(sender)
        try:
            while self.ends[1 - sender].read(1 << 16):
                pass
        except ssl.SSLWantReadError:
            pass
        return self

    def exchange(self, messages: tuple[bytes, bytes]) -> Talk:
        """A request and its response."""
        return self.say(0, messages[0]).say(1, messages[1])


def contexts(folder: Path, suite: str | None, refuses: int | None) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Of a client that trusts everybody, and of a server; or one of them trusts nobody."""
    pem = folder / "server.pem"
    pem.write_bytes(certificate())
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    server.load_cert_chain(pem)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    if refuses is not None:
        client.load_cert_chain(pem)
        (client, server)[refuses].verify_mode = ssl.CERT_REQUIRED
    for context in (server, client):
        if suite is not None:
            context.maximum_version = ssl.TLSVersion.TLSv1_2
            context.set_ciphers(f"{suite}:@SECLEVEL=0")
    return client, server


def sealed(secret: bytes, number: int, text: bytes, kind: int) -> bytes:
    """A record of TLS_AES_256_GCM_SHA384, by RFC 8446, 5.2 and 7.3."""
    key, iv = (
        HKDFExpand(hashes.SHA384(), size, label(name, size)).derive(secret)
        for name, size in ((b"key", 32), (b"iv", 12))
    )
    header = struct.pack(">BHH", 23, 0x0303, len(text) + 17)
    nonce = (int.from_bytes(iv, "big") ^ number).to_bytes(12, "big")
    return header + AESGCM(key).encrypt(nonce, text + bytes([kind]), header)


def updated(secret: bytes) -> bytes:
    """The traffic secret behind a KeyUpdate."""
    return HKDFExpand(hashes.SHA384(), 48, label(b"traffic upd", 48)).derive(secret)


def label(name: bytes, size: int) -> bytes:
    name = b"tls13 " + name
    return struct.pack(">HB", size, len(name)) + name + b"\0"
