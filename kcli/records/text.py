"""Batches as JSON text, made by the core: of a buffer, or chunk by chunk of a source."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kcli.core.records import batches as core
from kcli.grammar.secrets import redacted
from kcli.jsontext import dumps
from kcli.records.chunks import Chunk
from kcli.records.control import control_members
from kcli.records.damage import Damage, assess
from kcli.records.secrets import holds_secret, is_rest, is_secret_value, secret_types
from kcli.records.unfolding import Unfolding

Hook = Callable[[bytes | None, bytes | None], bytes]
MOST_KEPT = 1 << 20  # bytes; after a longer text of a field its memory is freed


@dataclass(slots=True)
class Findings:
    """Faults of the bytes that were read, with positions in the source."""

    batches: int = 0
    records: int = 0
    wrong_checksums: int = 0
    problems: list[tuple[int, str, str, int]] = field(default_factory=list)  # (position, path, reason, batch's start)
    damages: list[Damage] = field(default_factory=list)
    tolerated: list[str] = field(default_factory=list)  # faults that did not stop the reading

    @property
    def damaged(self) -> bool:
        """Return whether bytes are unreadable or have a wrong checksum, apart from an incomplete batch at the end."""
        return bool(self.wrong_checksums or self.problems or any(not damage.lawful for damage in self.damages))

    def gather(self, writer: core.BatchText) -> None:
        """Add the counts and faults that a writer has found since the last call."""
        batches, records, wrong_checksums, problems = writer.take_findings()
        self.batches += batches
        self.records += records
        self.wrong_checksums += wrong_checksums
        self.problems += problems
        self.tolerated += writer.decompress.tolerated
        writer.decompress.tolerated.clear()

    def clear(self) -> None:
        """Drop the findings, before other bytes are read."""
        self.batches = self.records = self.wrong_checksums = 0
        for found in self.problems, self.damages, self.tolerated:
            found.clear()


def drop_findings(writer: core.BatchText) -> None:
    """Drop a writer's findings, because its text is not used."""
    Findings().gather(writer)


def new_writer(
    record: Hook | None = None,
    payloads: bool = True,
    positions: bool = False,
    secrets: bool = False,
    unfold: Unfolding | None = None,
    metadata: bool = False,
) -> core.BatchText:
    """Return a new writer of batches.

    record(key, value): returns more members of a record; payloads: add what an exact encode needs; positions: add each
    batch's position; secrets: show them; unfold: decompresses; None: each batch has its own budget; metadata: the log
    is Kafka's metadata, so that any damaged part of it may be secret
    """
    unfold = unfold or Unfolding()
    if secrets:
        return core.BatchText(unfold, control_members, record, payloads, positions)
    types, suspect = bytes(secret_types()), is_any if metadata else holds_secret
    return core.BatchText(unfold, control_members, record, payloads, positions, is_secret_value, suspect, types)


def is_any(_data: memoryview) -> bool:
    return True


class RecordsText:
    """Turns records fields into the JSON text of their batches. The batches of one message share a budget of
    decompression.
    """

    def __init__(
        self,
        form: str,
        secrets: bool = False,
        findings: Findings | None = None,
        record: Hook | None = None,
        unfold: Unfolding | None = None,
    ) -> None:
        """Prepare a writer for all fields. The arguments are those of `batches_json`; form is its `mode`."""
        self.full, self.secrets, self.findings, self.record = form == "full", secrets, findings, record
        self.unfold = unfold or Unfolding(shared=True)
        self.begin = self.unfold.begin  # begins another message
        self.writer = new_writer(record, secrets=secrets, unfold=self.unfold)

    def __call__(self, data: memoryview | bytes) -> bytes:
        """Return the text of a field."""
        writer, size, findings = self.writer, len(data), self.findings
        writer.clear()  # remnants of an exception
        status, at = writer.write(data, 0, size, 0, self.full)
        if status != core.DONE:
            chunk = Chunk(data, size, size, 0, True)  # type: ignore[arg-type]
            damages = [] if findings is None else findings.damages
            write_chunk(writer, chunk, self.full, False, damages, at)
        text = writer.take_list()
        if findings is not None:
            findings.gather(writer)
        elif writer.problems or self.unfold.tolerated:
            drop_findings(writer)
        if len(text) > MOST_KEPT:
            self.writer = new_writer(self.record, secrets=self.secrets, unfold=self.unfold)
        return text


def batches_json(
    data: memoryview | bytes,
    mode: str = "full",
    findings: Findings | None = None,
    secrets: bool = False,
    record: Hook | None = None,
    unfold: Unfolding | None = None,
) -> bytes:
    """Return the JSON text of a records field: a list of batches, in mode "full" with their records, in mode "batches"
    without.

    Bytes that are not a batch are an event in the list, in mode "full" with the bytes. secrets: show them; record: as
    for `new_writer`; unfold: decompresses within the message's budget; None: within a budget of this field.
    """
    return RecordsText(mode, secrets, findings, record, unfold)(data)


def write_chunk(
    writer: core.BatchText,
    chunk: Chunk,
    full: bool,
    lines: bool,
    damages: list[Damage],
    at: int = 0,
) -> tuple[int, bool]:
    """Write the batches of a chunk from `at` on.

    Bytes that are not a batch become an event, and are added to `damages` with positions in the source. In a chunk with
    damage and secrets the events show no bytes. Returns (position in the source from which to continue, whether more
    bytes than the chunk's are needed there); the position is before the chunk's end if the text is full.
    """
    trusted, data = -1, memoryview(chunk.data)[: chunk.size]
    secret: bool | None = None  # whether the chunk has a secret; None: not searched yet
    while at < chunk.stop:
        status, at = writer.write(data, at, chunk.stop, chunk.base, full, trusted, lines)
        if status == core.DONE:
            break
        if status == core.FULL:
            return chunk.base + at, False
        verdict = assess(chunk.data, chunk.size, at, status, chunk.last)
        if verdict == "more":
            return chunk.base + at, True
        if verdict == "trust":
            trusted = at
            continue
        hidden = False
        if full and writer.suspect is not None:
            if secret is None and (writer.wrong_checksums or not verdict.lawful):
                secret = writer.suspect(data)
            rest = data[verdict.start : verdict.end]
            hidden = is_rest(rest) or (writer.suspect(rest) if secret is None else secret)
        writer.append(event_text(chunk, verdict, full, hidden), lines)
        damages.append(Damage(verdict.event, chunk.base + at, chunk.base + verdict.end, verdict.reason))
        at = verdict.end
    return chunk.base + at, False


def event_text(chunk: Chunk, damage: Damage, full: bool, hidden: bool) -> bytes:
    row: dict[str, Any] = {
        "event": damage.event,
        "offset": chunk.base + damage.start,
        "bytes": damage.end - damage.start,
        "reason": damage.reason,
    }
    if full:
        data = memoryview(chunk.data)[damage.start : damage.end]
        row["base64"] = redacted(len(data)) if hidden else base64.b64encode(data).decode()
    return dumps(row).encode()
