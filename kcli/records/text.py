"""Batches as JSON text, made by the core: of a buffer, or chunk by chunk of a source."""

from __future__ import annotations

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
MOST_KEPT = 1 << 20  # bytes of text of a field, behind which its memory is freed


@dataclass(slots=True)
class Findings:
    """Faults of the bytes that were read; positions are those of the source."""

    batches: int = 0
    records: int = 0
    wrong_checksums: int = 0
    problems: list[tuple[int, str, str, int]] = field(default_factory=list)  # (position, path, reason, batch's start)
    damages: list[Damage] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)  # faults that did not stop the reading

    @property
    def damaged(self) -> bool:
        """Return whether bytes are unreadable or have a wrong checksum, apart from an incomplete batch at the end."""
        return bool(self.wrong_checksums or self.problems or any(not damage.lawful for damage in self.damages))

    def gather(self, writer: core.BatchText) -> None:
        """Add a writer's counts since the last call."""
        batches, records, wrong_checksums, problems = writer.take_findings()
        self.batches += batches
        self.records += records
        self.wrong_checksums += wrong_checksums
        self.problems += problems
        self.odd += writer.decompress.odd
        writer.decompress.odd.clear()

    def clear(self) -> None:
        """Forget the findings, before other bytes are read."""
        self.batches = self.records = self.wrong_checksums = 0
        for found in self.problems, self.damages, self.odd:
            found.clear()


def drop_findings(writer: core.BatchText) -> None:
    """Drop the findings of a writer in text that is not used."""
    Findings().gather(writer)


def new_writer(
    record: Hook | None = None,
    payloads: bool = True,
    positions: bool = False,
    secrets: bool = False,
    unfold: Unfolding | None = None,
    metadata: bool = False,
) -> core.BatchText:
    """Make a writer of batches; payloads: with what an exact encode needs; record(key, value): more members of a
    record; secrets: show them. unfold: decompresses; None: each batch within its own bound. metadata: the log is
    Kafka's metadata: any damaged part of it may be secret.
    """
    unfold = unfold or Unfolding()
    if secrets:
        return core.BatchText(unfold, control_members, record, payloads, positions)
    types, suspect = bytes(secret_types()), is_any if metadata else holds_secret
    return core.BatchText(unfold, control_members, record, payloads, positions, is_secret_value, suspect, types)


def is_any(_data: memoryview) -> bool:
    return True


class RecordsText:
    """Turns records fields into the JSON text of their batches; those of a message unfold within one budget."""

    def __init__(
        self,
        form: str,
        secrets: bool = False,
        findings: Findings | None = None,
        record: Hook | None = None,
        unfold: Unfolding | None = None,
    ) -> None:
        """Prepare a writer, which serves all fields. The arguments are those of `batches_json`, form its `mode`."""
        self.full, self.secrets, self.findings, self.record = form == "full", secrets, findings, record
        self.unfold = unfold or Unfolding(shared=True)
        self.begin = self.unfold.begin  # another message
        self.writer = new_writer(record, secrets=secrets, unfold=self.unfold)

    def __call__(self, data: memoryview | bytes) -> bytes:
        """Return the text of a field."""
        writer, size, findings = self.writer, len(data), self.findings
        writer.clear()  # of what an exception has left
        status, at = writer.write(data, 0, size, 0, self.full)
        if status != core.DONE:
            chunk = Chunk(data, size, size, 0, True)  # type: ignore[arg-type]
            damages = [] if findings is None else findings.damages
            write_chunk(writer, chunk, self.full, False, damages, at)
        text = writer.take_list()
        if findings is not None:
            findings.gather(writer)
        elif writer.problems or self.unfold.odd:
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
    """Return the JSON text of a records field: a list of batches, each with its records in mode "full", without them in
    mode "batches". Bytes of no batch are an event among them, with its bytes in mode "full". secrets: show them.
    record: as for `new_writer`. unfold: decompresses, with the budget of the message; None: that of this field alone.
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
    """Write the batches of a chunk from `at` on; bytes that are no batch become an event, also added to `damages`
    (positions in the source). Of a chunk with damage and secrets the events show no bytes.

    Returns where in the source to go on, before the chunk's end where the lines are many, and whether more bytes are
    needed there than the chunk has.
    """
    trusted, data = -1, memoryview(chunk.data)[: chunk.size]
    secret: bool | None = None  # whether the chunk holds one, once that was asked: a wrong length parts it
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
        import base64

        data = memoryview(chunk.data)[damage.start : damage.end]
        row["base64"] = redacted(len(data)) if hidden else base64.b64encode(data).decode()
    return dumps(row).encode()
