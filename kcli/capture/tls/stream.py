"""One direction of a connection with TLS: bytes of an incomplete record, its keys, and missing bytes."""

from kcli.capture.kafka.events import Kind
from kcli.capture.tls.ciphers import Buffer
from kcli.capture.tls.handshake import Messages
from kcli.capture.tls.protection import Protection
from kcli.grammar.files.tls import APPLICATION_DATA, HEADER, record_size


class TlsEnd:
    """One direction: bytes of an incomplete record, keys, and missing bytes.

    sealed: its records are protected from here on. gap: bytes that are missing or make no record, before the next
    decrypted one (None if their number is unknown); searching: there are some. lacking: bytes of records for which no
    keys came.
    """

    def __init__(self, started: bool) -> None:
        self.buffer = bytearray()
        self.messages = Messages()
        self.ns = self.received = self.vain = self.guessed = self.lacking = 0
        self.sealed = False
        self.searching = not started
        self.gap: int | None = 0
        self.loss: tuple[Kind, str] | None = None
        self.keys: Protection | None = None
        self.following: Protection | None = None

    def open_records(self, ns: int, data: memoryview) -> tuple[bytes, int]:
        """Decrypt whole records; return their contents and the number of bytes read, up to the first record that can't
        be decrypted, or holds no data. data: valid during the call.
        """
        keys, at = self.keys, 0
        texts: list[Buffer] = []
        assert keys is not None
        while at < len(data):
            size = record_size(data, at)
            found = keys.cipher.open(keys.number, data[at : at + HEADER], data[at + HEADER : at + size])
            if found is None or found[0] != APPLICATION_DATA:
                break
            keys.number += 1
            texts.append(found[1])
            at += size
        self.ns, self.received = ns, self.received + at
        return b"".join(texts), at

    def release(self) -> bytes:
        """Return the bytes of an incomplete record, and forget that they were received."""
        buffer = bytes(self.buffer)
        self.buffer.clear()
        self.received -= len(buffer)
        return buffer

    def plain_size(self, gap: int | None, missing: int | None) -> int | None:
        """Return the bytes of data in `missing` records of `gap` bytes together; None if they can't be computed."""
        if self.keys is None or gap is None or missing is None or self.keys.suite.cipher == "CBC":
            return None
        size = gap - missing * (HEADER + self.keys.cipher.overhead)
        return size if size >= 0 else None
