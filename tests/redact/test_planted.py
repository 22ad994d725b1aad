"""A capture with a word of its own in each text, bytes, id, record and unknown field of every message: none is left."""

import base64
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.grammar import messages
from kcli.records.builder import build_batch, build_message_set
from kcli.schemas.catalog import catalog
from kcli.schemas.field_codes import CODECS
from tests import messages as made
from tests.capture.wires import Wire, frame, pcap
from tests.redact.leaks import lines, texts
from tests.redact.test_redacting import redact

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIZE = 16  # bytes of a word, as an id has
PIECE = 7  # letters in a row that nobody finds by chance


class Planted:
    """Words that were planted."""

    def __init__(self) -> None:
        self.rng = random.Random(1)
        self.words: list[str] = []
        self.codecs = itertools.cycle(CODECS)

    def word(self) -> str:
        self.words.append("".join(self.rng.choices(LETTERS, k=SIZE)))
        return self.words[-1]

    def data(self) -> bytes:
        return self.word().encode()

    def records(self) -> bytes:
        """A batch, a message set, and a batch that is cut."""
        codec = next(self.codecs)
        rows = [(1, self.data(), self.data() * 3, [(self.word(), self.data())]) for _ in range(3)]
        batch = build_batch(rows, codec=codec)
        old = "gzip" if codec == "zstd" else codec
        message_set = build_message_set([(1, self.data(), self.data())], magic=self.rng.choice((0, 1)), codec=old)
        return batch + message_set + batch[:90]

    def scalar(self, kind: str, path: str) -> Any:
        if kind == "uuid":
            return base64.urlsafe_b64encode(self.data()).decode().rstrip("=")
        plant = {"string": self.word, "bytes": self.data, "records": self.records}.get(kind)
        return NUMBER(kind, path) if plant is None else plant()

    def tags(self, is_flexible: bool) -> dict[str, Any]:
        return {"_unknownTaggedFields": [{"tag": 9000, "data": self.data()}]} if is_flexible else {}

    def exchanges(self, key: int, number: int) -> Iterator[tuple[bytes, bytes]]:
        """The request and response of each version of an API, with bytes behind all but the first."""
        api = catalog().apis[key]
        for version in range(api.versions.lo, api.versions.hi + 1):
            behind = self.data() if version > api.versions.lo else b""
            number += 1
            request: dict[str, Any] = {"requestApiKey": key, "requestApiVersion": version, "correlationId": number}
            header = api.request_header_version(version)
            if header:
                request["clientId"] = self.word()
            heads = (
                messages.request_header(key, version).write(request | self.tags(header == 2)),
                messages.response_header(key, version).write({"correlationId": number}),
            )
            bodies = []
            for head, name in zip(heads, (api.request, api.response), strict=True):
                message = catalog().message(name)
                value = made.filled(message, version) | self.tags(message.is_flexible(version))
                bodies.append(frame(head + messages.data(name, version).write(value) + behind))
            yield bodies[0], bodies[1]


NUMBER = made.scalar


def test_no_planted_word_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nor a piece of one; in the batches neither, once they are unfolded."""
    planted = Planted()
    monkeypatch.setattr(made, "scalar", planted.scalar)
    packets = []
    for key in catalog().apis:
        wire = Wire(("10.0.0.1", 20_000 + key), start=1_700_000_000_000_000_000 + key * 10**9).open()
        for request, response in planted.exchanges(key, 100 * key):
            wire.client(request).server(response)
        packets += wire.close().packets
    path, after = tmp_path / "planted.pcap", tmp_path / "redacted.pcapng"
    path.write_bytes(pcap(packets))
    data, source = redact(path)
    after.write_bytes(data)
    assert source.tally.exchanges > 300 and not source.frames.batches.emptied
    pieces = {word[at : at + PIECE] for word in planted.words for at in range(SIZE - PIECE + 1)}
    said = [data.decode("latin-1"), *texts(lines(after))]
    seen = "".join(texts(lines(path)))
    assert len(planted.words) > 7000 and all(word in seen for word in planted.words[:2])
    found = {part for text in said for at in range(len(text) - PIECE + 1) if (part := text[at : at + PIECE]) in pieces}
    assert not found
