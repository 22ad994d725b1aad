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
from kcli.records.secrets import holds_secret, is_secret_value, secret_types
from kcli.records.unfolding import Unfolding

Hook = Callable[[bytes | None, bytes | None], bytes]


@dataclass(slots=True)
class Findings:
    """Faults of the bytes that were read: positions are those of the source."""

    batches: int = 0
    records: int = 0
    wrong_checksums: int = 0
    problems: list[tuple[int, str, str]] = field(default_factory=list)
    damages: list[Damage] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)  # faults that did not stop the reading

    @property
    def damaged(self) -> bool:
        """Whether bytes could not be read or have a wrong checksum; an incomplete batch at the end does not count."""
        return bool(self.wrong_checksums or self.problems or any(not damage.lawful for damage in self.damages))

    def gather(self, writer: core.BatchText) -> None:
        """Add what a writer has counted since the last call."""
        batches, records, wrong_checksums, problems = writer.take_findings()
        self.batches += batches
        self.records += records
        self.wrong_checksums += wrong_checksums
        self.problems += problems
        self.odd += writer.decompress.odd
        writer.decompress.odd.clear()


def drop_findings(writer: core.BatchText) -> None:
    """Forget what a writer has found, in text that is not used."""
    Findings().gather(writer)


def new_writer(
    record: Hook | None = None,
    payloads: bool = True,
    positions: bool = False,
    secrets: bool = False,
    unfold: Unfolding | None = None,
) -> core.BatchText:
    """Make a writer of batches; payloads: with what an exact encode needs; record(key, value): more members of a
    record; secrets: show them. unfold: decompresses; None: each batch within its own bound.
    """
    unfold = unfold or Unfolding()
    if secrets:
        return core.BatchText(unfold, control_members, record, payloads, positions)
    types = bytes(secret_types())
    return core.BatchText(unfold, control_members, record, payloads, positions, is_secret_value, holds_secret, types)


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
    writer = new_writer(record, secrets=secrets, unfold=unfold or Unfolding(shared=True))
    damages = [] if findings is None else findings.damages
    chunk = Chunk(data, len(data), len(data), 0, True)  # type: ignore[arg-type]
    write_chunk(writer, chunk, mode == "full", False, damages, secrets)
    if findings is not None:
        findings.gather(writer)
    return b"[" + writer.take() + b"]"


def write_chunk(
    writer: core.BatchText, chunk: Chunk, full: bool, lines: bool, damages: list[Damage], secrets: bool = False
) -> tuple[int, bool]:
    """Write the batches of a chunk; what is no batch as an event, also added to `damages` (positions in the source).
    secrets: events show them.

    Returns where in the source to go on, before the chunk's end where the lines are many, and whether more bytes are
    needed there than the chunk has.
    """
    at, trusted, data = 0, -1, memoryview(chunk.data)[: chunk.size]
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
        writer.append(event_text(chunk, verdict, full, secrets), lines)
        damages.append(Damage(verdict.event, chunk.base + at, chunk.base + verdict.end, verdict.reason))
        at = verdict.end
    return chunk.base + at, False


def event_text(chunk: Chunk, damage: Damage, full: bool, secrets: bool) -> bytes:
    row: dict[str, Any] = {
        "event": damage.event,
        "offset": chunk.base + damage.start,
        "bytes": damage.end - damage.start,
        "reason": damage.reason,
    }
    if full:
        import base64

        data = memoryview(chunk.data)[damage.start : damage.end]
        hidden = not secrets and holds_secret(data)
        row["base64"] = redacted(len(data)) if hidden else base64.b64encode(data).decode()
    return dumps(row).encode()
