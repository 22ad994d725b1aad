"""Key and trust stores of Java's keytool: JKS and PKCS12, which differ in their first bytes.

A JKS file (sun.security.provider.JavaKeyStore) has entries with aliases: private keys with their certificate chains,
encrypted by a stream of SHA-1 digests (KeyProtector), and trusted certificates. Its last bytes are a digest of the
file.
"""

import hashlib
import struct
import warnings
from collections.abc import Sequence
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import pkcs12

from kcli.errors import InputError

JKS, VERSIONS, KEY, TRUSTED = 0xFEEDFEED, (1, 2), 1, 2
WHITENER = b"Mighty Aphrodite"
DIGEST = 20
WRONG = "a wrong password, or a damaged store"


class Store(NamedTuple):
    """The contents of a store in PEM. keys: each with its certificate chain; certificates: the trusted ones."""

    keys: Sequence[str]
    certificates: Sequence[str]


def read_store(data: bytes, name: str, password: str, key_password: str | None = None) -> Store:
    """Read a store. key_password: of its keys, None to leave keys out. A JKS store is not checked if password is "".

    Raises InputError if the file is no such store or damaged, or the password is wrong.
    """
    read = read_jks if data[:4] == JKS.to_bytes(4) else read_pkcs12
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd certificates
            return read(data, password, key_password)
    except (struct.error, ValueError, TypeError, IndexError) as error:
        raise InputError(f"no JKS or PKCS12 store ({error or WRONG})", file=name) from None


def read_pkcs12(data: bytes, password: str, key_password: str | None) -> Store:
    """Read a PKCS12 store, which has one password for everything.

    Raises ValueError if it is damaged, or the password is wrong.
    """
    key, certificate, others = pkcs12.load_key_and_certificates(data, password.encode())
    chain = [each for each in (certificate, *others) if each is not None]
    texts = [pem_of(each) for each in chain]
    keys = [key_pem(key) + "".join(texts)] if key is not None and key_password is not None else []
    return Store(keys, texts)


def read_jks(data: bytes, password: str, key_password: str | None) -> Store:
    """Read a JKS store. Raises ValueError or struct.error if it is damaged, or the password is wrong."""
    if password and digest(password.encode("utf-16-be") + WHITENER + data[:-DIGEST]) != data[-DIGEST:]:
        raise ValueError(WRONG)
    fields = Fields(data)
    version, count = fields.number("4xI"), fields.number("I")
    if version not in VERSIONS:
        raise ValueError(f"version {version}")
    keys: list[str] = []
    certificates: list[str] = []
    for _ in range(count):
        tag = fields.number("I")
        fields.piece("H")  # its alias
        fields.number("Q")  # the time of its creation
        if tag == KEY:
            protected = fields.piece("I")
            chain = [fields.certificate(version) for _ in range(fields.number("I"))]
            certificates += chain[:1]
            if key_password is not None:
                key = serialization.load_der_private_key(unprotected(protected, key_password), None)
                keys.append(key_pem(key) + "".join(chain))
        elif tag == TRUSTED:
            certificates.append(fields.certificate(version))
        else:
            raise ValueError(f"an entry of kind {tag}")
    return Store(keys, certificates)


class Fields:
    """Reads the fields of a JKS file one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def number(self, form: str) -> int:
        (found,) = struct.unpack_from(f">{form}", self._data, self._at)
        self._at += struct.calcsize(f">{form}")
        return int(found)

    def piece(self, form: str) -> bytes:
        """Return bytes with a length before them. form: of the length. Raises ValueError if the file ends early."""
        size = self.number(form)
        found = self._data[self._at : self._at + size]
        if len(found) < size:
            raise ValueError("it ends early")
        self._at += size
        return found

    def certificate(self, version: int) -> str:
        if version > 1:
            self.piece("H")  # "X.509"
        return pem_of(x509.load_der_x509_certificate(self.piece("I")))


def unprotected(data: bytes, password: str) -> bytes:
    """Decrypt a private key (PKCS #8 in DER). data: an EncryptedPrivateKeyInfo.

    Raises ValueError if the password is wrong.
    """
    inner = value_at(data, 0)[0]
    _, after = value_at(inner, 0)
    protected, _ = value_at(inner, after)
    stream, secret = protected[:DIGEST], password.encode("utf-16-be")
    plain = bytearray()
    for start in range(DIGEST, len(protected) - DIGEST, DIGEST):
        stream = digest(secret + stream)
        part = protected[start : min(start + DIGEST, len(protected) - DIGEST)]
        plain += bytes(a ^ b for a, b in zip(part, stream, strict=False))
    if digest(secret + plain) != protected[-DIGEST:]:
        raise ValueError("the key has another password")
    return bytes(plain)


def value_at(data: bytes, start: int) -> tuple[bytes, int]:
    """Return the value of the DER element at an offset, and the offset of the next one."""
    size, at = data[start + 1], start + 2
    if size & 0x80:
        length = size & 0x7F
        size, at = int.from_bytes(data[at : at + length]), at + length
    return data[at : at + size], at + size


def digest(data: bytes) -> bytes:
    return hashlib.sha1(data, usedforsecurity=False).digest()


def pem_of(certificate: x509.Certificate) -> str:
    """Return a certificate in PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def key_pem(key: PrivateKeyTypes) -> str:
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, plain).decode()
