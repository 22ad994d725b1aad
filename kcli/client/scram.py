"""The client's side of SCRAM (RFC 5802, RFC 7677). Like Kafka's ScramSaslClient: no channel binding, no SASLprep.

States: first() -> server-first-message -> step() -> server-final-message -> step() -> None.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping

from kcli.errors import NetworkError

GS2_HEADER = "n,,"
LEAST_ITERATIONS = 4096
# A broker could demand hours of hashing; Kafka's own tools refuse to store more than 16384 iterations.
MOST_ITERATIONS = 1_000_000


class Scram:
    """A login by SCRAM. algorithm: sha256 or sha512; by_token: the user name is a delegation token's id (KIP-48)."""

    def __init__(
        self, algorithm: str, username: str, password: str, *, by_token: bool = False, nonce: str | None = None
    ) -> None:
        self.name = f"SCRAM-SHA-{algorithm.removeprefix('sha')}"
        self._algorithm = algorithm
        self._password = password.encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        escaped = username.replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={escaped},r={self._nonce}" + (",tokenauth=true" if by_token else "")
        self._server_signature: bytes | None = None

    def first(self) -> bytes:
        """Return the client-first-message (RFC 5802, 5)."""
        return (GS2_HEADER + self._first_bare).encode()

    def step(self, challenge: bytes) -> bytes | None:
        """Return the client-final-message; None after a correct server signature. Raises NetworkError if the broker
        refuses the login, or can't be trusted.
        """
        if self._server_signature is None:
            return self._answer_server_first(challenge)
        self._check_server_final(challenge)
        return None

    def _answer_server_first(self, challenge: bytes) -> bytes:
        fields = self._fields(challenge)
        nonce, salt, iterations = fields.get("r", ""), self._base64(fields.get("s")), self._iterations(fields.get("i"))
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise self._distrust("its nonce does not begin with ours")
        salted = hashlib.pbkdf2_hmac(self._algorithm, self._password, salt, iterations)
        client_key = self._hmac(salted, b"Client Key")
        without_proof = f"c={base64.b64encode(GS2_HEADER.encode()).decode()},r={nonce}"
        message = ",".join((self._first_bare, challenge.decode(), without_proof)).encode()
        signature = self._hmac(hashlib.new(self._algorithm, client_key).digest(), message)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._server_signature = self._hmac(self._hmac(salted, b"Server Key"), message)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def _check_server_final(self, challenge: bytes) -> None:
        fields = self._fields(challenge)
        if "e" in fields:
            raise NetworkError(f"{self.name}: the broker refused the login: {fields['e']}")
        assert self._server_signature is not None
        if not hmac.compare_digest(self._base64(fields.get("v")), self._server_signature):
            raise self._distrust("its signature is wrong: it does not know the password")

    def _fields(self, challenge: bytes) -> Mapping[str, str]:
        try:
            parts = challenge.decode().split(",")
        except UnicodeDecodeError:
            raise self._distrust("its message is not UTF-8") from None
        return {part[0]: part[2:] for part in parts if part[1:2] == "="}

    def _base64(self, text: str | None) -> bytes:
        try:
            return base64.b64decode(text or "", validate=True)
        except binascii.Error:
            raise self._distrust("its message has invalid base64") from None

    def _iterations(self, text: str | None) -> int:
        if text is None or not text.isascii() or not text.isdigit() or len(text) > 9:
            raise self._distrust("its message names no iteration count")
        count = int(text)
        if not LEAST_ITERATIONS <= count <= MOST_ITERATIONS:
            raise self._distrust(f"it asks for {count} iterations ({LEAST_ITERATIONS} to {MOST_ITERATIONS} accepted)")
        return count

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._algorithm)

    def _distrust(self, reason: str) -> NetworkError:
        return NetworkError(f"{self.name}: the broker can't be trusted: {reason}")
