"""The server's side of SCRAM (RFC 5802, RFC 7677; Kafka's ScramSaslServer), and its credentials."""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kcli.broker.security.mechanism import OTHER_NAME, Exchange, LoginError

# Kafka's numbers of the mechanisms.
SHA_256, SHA_512 = 1, 2
ALGORITHMS: Mapping[int, str] = {SHA_256: "sha256", SHA_512: "sha512"}
NAMES: Mapping[int, str] = {SHA_256: "SCRAM-SHA-256", SHA_512: "SCRAM-SHA-512"}
LEAST_ITERATIONS, MOST_ITERATIONS = 4096, 16384


class Credential(NamedTuple):
    """A user's stored credential for one mechanism."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


def credential_of(mechanism: int, salted: bytes, salt: bytes, iterations: int) -> Credential:
    """Make a credential from a salted password. mechanism: its number."""
    algorithm = ALGORITHMS[mechanism]
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    server_key = hmac.digest(salted, b"Server Key", algorithm)
    return Credential(salt, hashlib.new(algorithm, client_key).digest(), server_key, iterations)


def credential_for(mechanism: int, password: str) -> Credential:
    """Make a credential from a password, with a new salt and the fewest iterations that Kafka allows."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac(ALGORITHMS[mechanism], password.encode(), salt, LEAST_ITERATIONS)
    return credential_of(mechanism, salted, salt, LEAST_ITERATIONS)


class ScramServer(Exchange):
    """A login by SCRAM. find: returns a user's credential, None if the user has none."""

    def __init__(self, mechanism: int, find: Callable[[str], Credential | None], nonce: str | None = None) -> None:
        self._algorithm, self._find = ALGORITHMS[mechanism], find
        self._nonce = nonce or secrets.token_urlsafe(24)
        self._first = b""
        self._credential: Credential | None = None

    def step(self, message: bytes) -> bytes:
        """Process a message of the client; return the response. Raises LoginError if authentication failed, or if the
        message is invalid.
        """
        try:
            return self._answer_first(message) if self._credential is None else self._answer_final(message)
        except (ValueError, KeyError, binascii.Error):
            raise LoginError("Invalid SCRAM message format") from None

    def _answer_first(self, message: bytes) -> bytes:
        binding, authorization, bare = message.decode().split(",", 2)
        if binding not in ("n", "y") or authorization[:2] not in ("", "a="):
            raise LoginError("Invalid SCRAM message format")
        fields = fields_of(bare)
        self.user = unescaped(fields["n"])
        if authorization and unescaped(authorization[2:]) != self.user:
            raise LoginError(OTHER_NAME)
        self._credential = self._find(self.user)
        if self._credential is None or not fields["r"]:
            raise LoginError
        self._nonce = fields["r"] + self._nonce
        salt = base64.b64encode(self._credential.salt).decode()
        answer = f"r={self._nonce},s={salt},i={self._credential.iterations}"
        self._first = f"{bare},{answer}".encode()
        self._binding = base64.b64encode(f"{binding},{authorization},".encode()).decode()
        return answer.encode()

    def _answer_final(self, message: bytes) -> bytes:
        without_proof, _, proof = message.decode().rpartition(",p=")
        fields = fields_of(without_proof)
        credential = self._credential
        assert credential is not None
        if fields["r"] != self._nonce or fields["c"] != self._binding:
            raise LoginError
        signed = self._first + b"," + without_proof.encode()
        signature = hmac.digest(credential.stored_key, signed, self._algorithm)
        client_proof = base64.b64decode(proof, validate=True)
        key = bytes(a ^ b for a, b in zip(signature, client_proof, strict=True))
        if not hmac.compare_digest(hashlib.new(self._algorithm, key).digest(), credential.stored_key):
            raise LoginError
        self.done = True
        return b"v=" + base64.b64encode(hmac.digest(credential.server_key, signed, self._algorithm))


def fields_of(text: str) -> Mapping[str, str]:
    return {each[0]: each[2:] for each in text.split(",") if each[1:2] == "="}


def unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")
