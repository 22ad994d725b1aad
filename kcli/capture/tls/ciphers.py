"""Decrypts protected records: one class for the AEAD ciphers of TLS 1.2 and 1.3, one for CBC with its MAC.

Decryption fails for bytes that are no record, or have another record number, as the tag or MAC is wrong then.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Protocol

from kcli.capture.tls.schedule import Keys
from kcli.capture.tls.suites import Suite
from kcli.core.tls.record_numbers import likely_numbers
from kcli.grammar.files.tls import ALERT, APPLICATION_DATA, HANDSHAKE

TLS_12, TLS_13 = 0x0303, 0x0304
TAG = 16
BLOCK = 16  # bytes of an AES block
AT_A_TIME = 1 << 12  # record numbers; more do not fit into a processor's caches
LAST_OF_DATA = bytes([APPLICATION_DATA])
LASTS = bytes([0, ALERT, HANDSHAKE, APPLICATION_DATA])  # the possible last bytes of what TLS 1.3 protects

Buffer = bytes | memoryview


class RecordCipher(Protocol):
    """Opens the records of one direction, under one key."""

    overhead: int  # bytes by which a record is longer than its contents; for CBC at least

    def open(self, number: int, header: Buffer, payload: Buffer) -> tuple[int, Buffer] | None:
        """Decrypt record `number` to (type, contents); None if that fails. header: the record's 5 bytes."""

    def likely(self, numbers: range, payload: bytes, far: bool) -> Iterator[Sequence[int]]:
        """Yield the numbers that a record may have, in groups; with most ciphers all of them. far: there are many
        numbers, and the record is of application data without padding; yield none if the cipher cannot tell likely
        ones.
        """


class AeadCipher:
    """AES-GCM, AES-CCM and ChaCha20-Poly1305."""

    def __init__(self, suite: Suite, version: int, keys: Keys) -> None:
        aead, self.invalid = aead_ciphers()
        _, key, self.iv = keys
        self.is_13 = version == TLS_13
        self.tag = 8 if suite.cipher == "CCM_8" else TAG
        made: Any
        if suite.cipher == "CHACHA20":
            made = aead.ChaCha20Poly1305(key)
        elif suite.cipher == "GCM":
            made = aead.AESGCM(key)
        else:
            made = aead.AESCCM(key, tag_length=self.tag)
        self.decrypt = made.decrypt
        self.explicit = 8 if len(self.iv) == 4 else 0  # bytes of the nonce in the record
        self.whole_iv = int.from_bytes(self.iv, "big")
        self.block_key = key if self.is_13 and suite.cipher == "GCM" else None
        self.overhead = self.tag + self.explicit + self.is_13

    def open(self, number: int, header: Buffer, payload: Buffer) -> tuple[int, Buffer] | None:
        """Decrypt record `number` to (type, contents); None if that fails."""
        explicit = self.explicit
        size = len(payload) - explicit - self.tag
        if size < 0:
            return None
        if explicit:
            nonce = self.iv + payload[:explicit]
            payload = payload[explicit:]
        else:
            nonce = (self.whole_iv ^ number).to_bytes(12, "big")
        additional_data = header if self.is_13 else number.to_bytes(8, "big") + header[:3] + size.to_bytes(2, "big")
        try:
            text: bytes = self.decrypt(nonce, payload, additional_data)
        except self.invalid:
            return None
        if not self.is_13:
            return header[0], text
        if not text or not text[-1]:
            text = text.rstrip(b"\0")
        return (text[-1], memoryview(text)[:-1]) if text else (0, b"")

    def likely(self, numbers: range, payload: bytes, far: bool) -> Iterator[Sequence[int]]:
        """Yield likely numbers. In TLS 1.3 the last protected byte is the type, or padding (RFC 8446, 5.2)."""
        if self.block_key is None:
            yield from () if far else (numbers,)
            return
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        last = len(payload) - TAG - 1
        if last < 0:
            return
        encrypt = Cipher(algorithms.AES(self.block_key), modes.ECB()).encryptor().update
        counter, at = 2 + last // BLOCK, last % BLOCK  # block 1 makes the tag
        known = bytes(payload[last] ^ kind for kind in (LAST_OF_DATA if far else LASTS))
        for first in range(numbers.start, numbers.stop, AT_A_TIME):
            yield likely_numbers(encrypt, self.iv, first, min(AT_A_TIME, numbers.stop - first), counter, at, known)


@cache
def aead_ciphers() -> tuple[Any, type[Exception]]:
    """Return cryptography's AEAD module, and the error that it raises for a wrong tag."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers import aead

    return aead, InvalidTag


class CbcCipher:
    """AES-CBC with a MAC: inside the encrypted bytes, or around them (encrypt-then-MAC, RFC 7366)."""

    def __init__(self, suite: Suite, keys: Keys, mac_outside: bool) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self.mac_key, key, _ = keys
        self.hash, self.mac_size = suite.mac or "", suite.mac_size
        self.mac_outside = mac_outside
        self.decryptor: Callable[[bytes], Any] = lambda iv: Cipher(algorithms.AES(key), modes.CBC(iv)).decryptor()
        self.overhead = 16 + self.mac_size + 1
        self.last: tuple[bytes, bytes] = b"", b""

    def open(self, number: int, header: Buffer, payload: Buffer) -> tuple[int, Buffer] | None:
        """Decrypt record `number` to (type, contents); None if that fails."""
        sealed = bytes(payload)
        if self.mac_outside:
            sealed, mac = sealed[: -self.mac_size], sealed[-self.mac_size :]
            if not self.is_mac(mac, number, header, sealed):
                return None
        text = self.decrypted(sealed)
        if text is None:
            return None
        if not self.mac_outside:
            text, mac = text[: -self.mac_size], text[-self.mac_size :]
            if not self.is_mac(mac, number, header, text):
                return None
        return header[0], text

    def likely(self, numbers: range, _payload: bytes, far: bool) -> Iterator[Sequence[int]]:
        """Yield all numbers as equally likely; none if there are many."""
        return iter(() if far else (numbers,))

    def decrypted(self, sealed: bytes) -> bytes | None:
        """Return the text without its padding; None if the padding is wrong."""
        if self.last[0] != sealed:
            if len(sealed) < 32 or len(sealed) % 16:
                return None
            self.last = sealed, self.decryptor(sealed[:16]).update(sealed[16:])
        text = self.last[1]
        padding = text[-1] + 1
        least = padding + (0 if self.mac_outside else self.mac_size)
        if least > len(text) or text[-padding:] != bytes([padding - 1]) * padding:
            return None
        return text[:-padding]

    def is_mac(self, mac: bytes, number: int, header: Buffer, text: bytes) -> bool:
        import hmac  # few suites need it

        said = number.to_bytes(8, "big") + header[:3] + len(text).to_bytes(2, "big")
        return hmac.digest(self.mac_key, said + text, self.hash) == mac


def cipher_of(suite: Suite, version: int, keys: Keys, mac_outside: bool = False) -> RecordCipher:
    """Return the cipher of one direction. mac_outside: encrypt-then-MAC was negotiated."""
    return CbcCipher(suite, keys, mac_outside) if suite.cipher == "CBC" else AeadCipher(suite, version, keys)
