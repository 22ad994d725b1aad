"""Derives the keys of records from a connection's secrets: by the PRF of TLS 1.2 (RFC 5246, 5 and 6.3), and by HKDF in
TLS 1.3 (RFC 8446, 7).
"""

from functools import cache, lru_cache
from typing import Any

from kcli.capture.tls.suites import Suite
from kcli.grammar.files.tls import LABEL

Keys = tuple[bytes, bytes, bytes]  # (MAC key, key, IV) of one direction

REMEMBERED = 1 << 14  # traffic secrets whose keys are kept, as connections without a handshake try the same ones
# Bytes of the IV from the key block (RFC 5288, 6655 and 7905); CBC has an IV in each record.
SALTS = {"GCM": 4, "CCM": 4, "CCM_8": 4, "CHACHA20": 12, "CBC": 0}


def prf(name: str, secret: bytes, label: bytes, seed: bytes, size: int) -> bytes:
    """Expand a secret with P_hash of TLS 1.2."""
    import hmac  # its import loads OpenSSL once more

    seed = label + seed
    made, link = b"", seed
    while len(made) < size:
        link = hmac.digest(secret, link, name)
        made += hmac.digest(secret, link + seed, name)
    return made[:size]


def keys_of_master(suite: Suite, master: bytes, client_random: bytes, server_random: bytes) -> tuple[Keys, Keys]:
    """Return the keys of client and server in TLS 1.2."""
    salt = SALTS[suite.cipher]
    sizes = [each for each in (suite.mac_size, suite.key_size, salt) for _ in range(2)]
    block = prf(suite.hash, master, b"key expansion", server_random + client_random, sum(sizes))
    parts = []
    for size in sizes:
        parts.append(block[:size])
        block = block[size:]
    return (parts[0], parts[2], parts[4]), (parts[1], parts[3], parts[5])


def expand_label(name: str, secret: bytes, label: bytes, size: int) -> bytes:
    """Compute HKDF-Expand-Label with an empty context."""
    expand, algorithm = hkdf(name)
    return bytes(expand(algorithm, size, info(label, size)).derive(secret))


@cache
def hkdf(name: str) -> tuple[Any, Any]:
    """Return HKDF-Expand and its hash."""
    from cryptography.hazmat.primitives.hashes import SHA256, SHA384
    from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

    return HKDFExpand, SHA384() if name == "sha384" else SHA256()


@cache
def info(label: bytes, size: int) -> bytes:
    return bytes(LABEL.build({"length": size, "label": {"name": label}}))


@lru_cache(REMEMBERED)
def keys_of_traffic(suite: Suite, secret: bytes) -> Keys:
    """Derive the keys from a traffic secret of TLS 1.3."""
    key = expand_label(suite.hash, secret, b"key", suite.key_size)
    return b"", key, expand_label(suite.hash, secret, b"iv", 12)


def next_traffic_secret(suite: Suite, secret: bytes) -> bytes:
    """Return the traffic secret after a KeyUpdate."""
    return expand_label(suite.hash, secret, b"traffic upd", len(secret))
