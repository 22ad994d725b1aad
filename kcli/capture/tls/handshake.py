"""Reads the handshake, in the clear or with known keys: version, suite, names, resumption, alerts."""

import contextlib
from dataclasses import dataclass, field
from typing import Any

from construct import ConstructError

from kcli.capture.tls.ciphers import TLS_12, TLS_13
from kcli.capture.tls.suites import NAMES, suite_of
from kcli.grammar.files import tls

CLIENT_HELLO, SERVER_HELLO, NEW_SESSION_TICKET, CERTIFICATE, FINISHED, KEY_UPDATE = 1, 2, 4, 11, 20, 24
SERVER_NAME, ENCRYPT_THEN_MAC, SESSION_TICKET, SUPPORTED_VERSIONS = 0, 22, 35, 43  # extensions
# The random of a ServerHello that requests another ClientHello: SHA-256 of "HelloRetryRequest".
RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
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
    """Return an alert's name and number."""
    return f"alert {ALERTS.get(description, 'unknown')} ({description})"


class Messages:
    """Reassembles the handshake messages of one direction from its records, which may cut them anywhere."""

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.too_long = False

    def add(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return (type, body) of the messages that are now complete."""
        found: list[tuple[int, bytes]] = []
        if self.too_long:
            return found
        self.buffer += data
        while len(self.buffer) >= tls.MESSAGE_HEADER:
            size = tls.message_size(self.buffer)
            if size > LONGEST:
                self.too_long = True
                self.buffer.clear()
                break
            if len(self.buffer) < size:
                break
            found.append((self.buffer[0], bytes(self.buffer[tls.MESSAGE_HEADER : size])))
            del self.buffer[:size]
        return found

    def clear(self) -> None:
        """Start again, as records are missing."""
        self.buffer.clear()


@dataclass(slots=True)
class Handshake:
    """The negotiated parameters of a handshake, as far as it was captured.

    version: 0x0303 is TLS 1.2; 0 if no ServerHello was captured. ticket: the client's. certified: the server sent a
    certificate, so no session was resumed.
    """

    client_random: bytes = b""
    server_random: bytes = b""
    session_id: bytes = b""
    ticket: bytes = b""
    version: int = 0
    suite: int = 0
    mac_outside: bool = False
    certified: bool = False
    server_names: bytes = b""  # the client's extension
    certificates: bytes = b""  # the server's message
    failures: list[str] = field(default_factory=list)

    def see(self, kind: int, body: bytes, from_client: bool) -> None:
        """Read a message; one that can't be read is ignored."""
        try:
            if kind == CLIENT_HELLO:
                self.see_client(tls.CLIENT_HELLO.parse(body))
            elif kind == SERVER_HELLO:
                self.see_server(tls.SERVER_HELLO.parse(body))
            elif kind == CERTIFICATE and not from_client:
                self.certified, self.certificates = True, body
        except ConstructError:
            pass

    def see_client(self, hello: Any) -> None:
        """Read a ClientHello."""
        self.client_random, self.certified = bytes(hello.random), False
        found = tls.extensions(hello.extensions or b"")
        self.ticket, self.server_names = found.get(SESSION_TICKET, b""), found.get(SERVER_NAME, b"")

    def see_server(self, hello: Any) -> None:
        """Read a ServerHello; one that requests another ClientHello is ignored."""
        if hello.random == RETRY:
            return
        found = tls.extensions(hello.extensions or b"")
        self.server_random, self.session_id = bytes(hello.random), bytes(hello.session_id)
        self.suite = hello.suite
        self.version = int.from_bytes(found.get(SUPPORTED_VERSIONS, b""), "big") or hello.version
        self.mac_outside = ENCRYPT_THEN_MAC in found

    @property
    def unread(self) -> str:
        """The reason why kcli can't decrypt the negotiated suite, even with keys; "" if it can, or without a
        ServerHello so far.
        """
        if self.version and self.version not in (TLS_12, TLS_13):
            return f"kcli decrypts TLS 1.2 and 1.3, not {VERSIONS.get(self.version, 'this version')}"
        return "kcli does not decrypt this cipher suite" if self.version and suite_of(self.suite) is None else ""

    @property
    def server_name(self) -> str:
        """The server name in the ClientHello; "" if there is none, or it can't be read."""
        with contextlib.suppress(ConstructError):
            for entry in tls.SERVER_NAMES.parse(self.server_names) if self.server_names else ():
                if entry.type == 0:
                    return str(entry.name, "ascii", "replace")[:LONGEST_NAME]
        return ""

    @property
    def certificate(self) -> bytes:
        """The server's own certificate in DER; b"" if there is none."""
        with contextlib.suppress(ConstructError):
            if self.certificates and self.version == TLS_13:
                return bytes(
                    next((each.data for each in tls.CERTIFICATES_13.parse(self.certificates).certificates), b"")
                )
            if self.certificates:
                return bytes(next(iter(tls.CERTIFICATES_12.parse(self.certificates)), b""))
        return b""

    @property
    def text(self) -> str:
        """Version, suite, the requested server name, and the names in the certificate."""
        suite = NAMES.get(self.suite, f"cipher suite {self.suite:#06x}")
        parts = [VERSIONS.get(self.version, f"TLS version {self.version:#06x}"), suite] if self.version else ["TLS"]
        if name := self.server_name:
            parts.append(f"server name {name}")
        if (certificate := self.certificate) and (names := certificate_names(certificate)):
            parts.append(f"certificate of {names}")
        return ", ".join(parts)


def certificate_names(data: bytes) -> str:
    """Return a certificate's subject, or else its first DNS names; "" if it can't be read."""
    try:
        from cryptography import x509

        certificate = x509.load_der_x509_certificate(data)
        subject = certificate.subject.rfc4514_string()
        if subject:
            return subject[:LONGEST_NAME]
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return ", ".join(map(str, names.get_values_for_type(x509.DNSName)))[:LONGEST_NAME]
    except Exception:  # noqa: BLE001  the parser may raise anything
        return ""
