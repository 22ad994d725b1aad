"""What a handshake says in the clear, or under keys that are known: version, suite, names, resumption, alerts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from construct import ConstructError

from kcli.capture.tls.ciphers import TLS_13
from kcli.capture.tls.suites import NAMES
from kcli.grammar import tls

__all__ = [
    "CERTIFICATE",
    "CLIENT_HELLO",
    "FINISHED",
    "KEY_UPDATE",
    "NEW_SESSION_TICKET",
    "SERVER_HELLO",
    "Handshake",
    "Messages",
    "alert_text",
]

CLIENT_HELLO, SERVER_HELLO, NEW_SESSION_TICKET, CERTIFICATE, FINISHED, KEY_UPDATE = 1, 2, 4, 11, 20, 24
SERVER_NAME, ENCRYPT_THEN_MAC, SESSION_TICKET, SUPPORTED_VERSIONS = 0, 22, 35, 43  # extensions
RETRY = hashlib.sha256(b"HelloRetryRequest").digest()  # the random of a ServerHello that asks for another ClientHello
LONGEST = 1 << 17  # bytes of a handshake message that is read
LONGEST_NAME = 100  # characters of a name that is shown
VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1", 0x0303: "TLS 1.2", 0x0304: "TLS 1.3"}

# AlertDescription (RFC 8446, 6)
ALERTS = {
    0: "close_notify", 10: "unexpected_message", 20: "bad_record_mac", 21: "decryption_failed", 22: "record_overflow",
    30: "decompression_failure", 40: "handshake_failure", 41: "no_certificate", 42: "bad_certificate",
    43: "unsupported_certificate", 44: "certificate_revoked", 45: "certificate_expired", 46: "certificate_unknown",
    47: "illegal_parameter", 48: "unknown_ca", 49: "access_denied", 50: "decode_error", 51: "decrypt_error",
    60: "export_restriction", 70: "protocol_version", 71: "insufficient_security", 80: "internal_error",
    86: "inappropriate_fallback", 90: "user_canceled", 100: "no_renegotiation", 109: "missing_extension",
    110: "unsupported_extension", 112: "unrecognized_name", 113: "bad_certificate_status_response",
    115: "unknown_psk_identity", 116: "certificate_required", 120: "no_application_protocol",
}  # fmt: skip


def alert_text(description: int) -> str:
    """An alert's name and number."""
    return f"alert {ALERTS.get(description, 'unknown')} ({description})"


class Messages:
    """Handshake messages out of the records of one direction: they may be cut anywhere."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.too_long = False

    def add(self, data: bytes) -> list[tuple[int, bytes]]:
        """(type, body) of the messages that are whole by now."""
        found: list[tuple[int, bytes]] = []
        if self.too_long:
            return found
        self.buffer += data
        while len(self.buffer) >= 4:
            header = tls.HANDSHAKE_HEADER.parse(bytes(self.buffer[:4]))
            if header.length > LONGEST:
                self.too_long = True
                self.buffer.clear()
                break
            if len(self.buffer) < 4 + header.length:
                break
            found.append((header.type, bytes(self.buffer[4 : 4 + header.length])))
            del self.buffer[: 4 + header.length]
        return found

    def clear(self) -> None:
        """Begin anew, where records are missing."""
        self.buffer.clear()


@dataclass(slots=True)
class Handshake:
    """What was agreed on, as far as it was seen.

    version: 0x0303 is TLS 1.2; 0: no ServerHello was seen. ticket: that the client offers. certified: the server sent a
    certificate, so that nothing was resumed.
    """

    client_random: bytes = b""
    server_random: bytes = b""
    session_id: bytes = b""
    ticket: bytes = b""
    version: int = 0
    suite: int = 0
    mac_outside: bool = False
    certified: bool = False
    server_name: str = ""
    certificate: bytes = b""  # the server's, in DER
    failures: list[str] = field(default_factory=list)

    def see(self, kind: int, body: bytes, from_client: bool) -> None:
        """Take in a message; one that can't be read says nothing."""
        try:
            if kind == CLIENT_HELLO:
                self.see_client(tls.CLIENT_HELLO.parse(body))
            elif kind == SERVER_HELLO:
                self.see_server(tls.SERVER_HELLO.parse(body))
            elif kind == CERTIFICATE and not from_client:
                self.certified = True
                self.certificate = self.first_certificate(body)
        except ConstructError:
            pass

    def see_client(self, hello: Any) -> None:
        """Take in a ClientHello."""
        self.client_random = bytes(hello.random)
        found = extensions_of(hello)
        self.ticket = found.get(SESSION_TICKET, b"")
        if SERVER_NAME in found:
            names = [entry.name for entry in tls.SERVER_NAMES.parse(found[SERVER_NAME]) if entry.type == 0]
            self.server_name = names[0].decode("ascii", "replace")[:LONGEST_NAME] if names else ""

    def see_server(self, hello: Any) -> None:
        """Take in a ServerHello; one that asks for another ClientHello says nothing."""
        if hello.random == RETRY:
            return
        found = extensions_of(hello)
        self.server_random, self.session_id = bytes(hello.random), bytes(hello.session_id)
        self.suite = hello.suite
        self.version = int.from_bytes(found.get(SUPPORTED_VERSIONS, b""), "big") or hello.version
        self.mac_outside = ENCRYPT_THEN_MAC in found

    def first_certificate(self, body: bytes) -> bytes:
        """The sender's own certificate in DER; b"": there is none."""
        if self.version == TLS_13:
            return bytes(next((each.data for each in tls.CERTIFICATES_13.parse(body).certificates), b""))
        return bytes(next(iter(tls.CERTIFICATES_12.parse(body)), b""))

    @property
    def text(self) -> str:
        """Version, suite, the name that the client asked for and those of the certificate."""
        suite = NAMES.get(self.suite, f"cipher suite {self.suite:#06x}")
        parts = [VERSIONS.get(self.version, f"TLS version {self.version:#06x}"), suite] if self.version else ["TLS"]
        if self.server_name:
            parts.append(f"server name {self.server_name}")
        if self.certificate:
            names = certificate_names(self.certificate)
            parts += [f"certificate of {names}"] if names else []
        return ", ".join(parts)


def extensions_of(hello: Any) -> dict[int, bytes]:
    return {each.type: bytes(each.data) for each in hello.extensions or ()}


def certificate_names(data: bytes) -> str:
    """Whom a certificate is of: its subject, or else its first DNS names; "" where it can't be read."""
    try:
        from cryptography import x509

        certificate = x509.load_der_x509_certificate(data)
        subject = certificate.subject.rfc4514_string()
        if subject:
            return subject[:LONGEST_NAME]
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return ", ".join(map(str, names.get_values_for_type(x509.DNSName)))[:LONGEST_NAME]
    except Exception:  # whatever a stranger's certificate makes the parser raise
        return ""
