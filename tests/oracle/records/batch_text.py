"""Batches and their records as JSON text."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcli.core.records.batches import HEADER_SIZE
from kcli.core.records.problems import REASONS
from kcli.errors import InputError
from kcli.jsontext import dumps
from tests.oracle.records.batch_json import APPEND_TIME, CONTROL, Members, header_row, shown, shown_key
from tests.oracle.records.framing import DONE, SUSPECT, Frame, is_sound, read_frame
from tests.oracle.records.record_values import Problem, Row, open_set, read_messages, read_records, write_records

if TYPE_CHECKING:
    from typing_extensions import Buffer

LEGACY_NULL, LEGACY_CODEC = 14, 15

Hook = Callable[[bytes | None, bytes | None], bytes]


class BatchText:
    """As `kcli.core.records.batches.BatchText`."""

    def __init__(
        self,
        decompress: Callable[[int, Buffer, int], Buffer],
        control: Hook | None = None,
        record: Hook | None = None,
        payloads: bool = True,
        positions: bool = False,
        secret: Callable[[memoryview], bool] | None = None,
        suspect: Callable[[memoryview], bool] | None = None,
        types: bytes = b"",
    ) -> None:
        self.secret, self.suspect, self.types = secret, suspect, types
        self.hidden = self.covered = self.damaged = False
        self.decompress, self.control, self.record = decompress, control, record
        self.payloads, self.positions = payloads, positions
        self.out = bytearray()
        self.problems: list[tuple[int, str, str, int]] = []
        self.batches = self.records = self.wrong_checksums = self.start = 0
        self.error: Members | None = None

    def take(self) -> bytes:
        """Return the text so far, and drop it."""
        data = bytes(self.out)
        self.out.clear()
        return data

    def text(self) -> memoryview:
        """The text so far."""
        return memoryview(bytes(self.out))

    def clear(self) -> None:
        """Drop the text."""
        self.out = bytearray()

    def take_findings(self) -> tuple[int, int, int, list[tuple[int, str, str, int]]]:
        """(batches, records, wrong checksums, problems) since the last call."""
        found = self.batches, self.records, self.wrong_checksums, self.problems
        self.batches = self.records = self.wrong_checksums = 0
        self.problems = []
        return found

    def append(self, text: bytes, lines: bool = False) -> None:
        """Put a chunk of JSON text behind the batches."""
        if self.out and not lines:
            self.out += b","
        self.out += text + b"\n" * lines

    def write(
        self, data: Buffer, start: int, stop: int, base: int, full: bool, trusted: int = -1, lines: bool = False
    ) -> tuple[int, int]:
        """Write batches of a buffer as JSON text (as kcli.core.records.batches): the status, and where that ended."""
        view = memoryview(data)
        while start < stop:
            status, frame = read_frame(view, start, len(view))
            if frame is None:
                return status, start
            if not frame.crc_valid:
                end = start + frame.size
                if start != trusted and end < len(view) and not is_sound(view, end, len(view)):
                    return SUSPECT, start
                self.wrong_checksums += 1
            self.append(self.row(frame, view[start : start + frame.size], base + start, full), lines)
            self.batches += 1
            start += frame.size
        return DONE, start

    def row(self, frame: Frame, entry: memoryview, position: int, full: bool) -> bytes:
        """A batch's JSON form."""
        self.start = position
        self.forget(not frame.crc_valid)
        place = position if self.positions else None
        if frame.magic < 2:
            text = self.message_row(frame, entry, position, place, full)
        else:
            text = dumps(header_row(frame, place, (frame.base_offset, frame.count)))[:-1]
            text += self.records_row(frame, position) if full else ""
        if self.error is not None:
            text += ',"_error":' + dumps(self.error)
        return text.encode() + b"}"

    def forget(self, damaged: bool) -> None:
        """Begin a row in which nothing is wrong but the checksum, if `damaged`."""
        self.error = None
        self.hidden = self.covered = False
        self.damaged = damaged

    def cover(self, data: Buffer) -> None:
        """Hide all keys, values and headers of a damaged batch whose bytes may hold a secret."""
        self.covered = self.damaged and self.suspect is not None and self.suspect(memoryview(data))

    def shown(self, value: bytes | None) -> Any:
        """The JSON form of a key or header."""
        return {"redacted": len(value)} if self.covered and value is not None else shown(value)

    def shown_value(self, value: bytes | None) -> Any:
        """The JSON form of a record's value; of a secret its size."""
        if self.secret is None or value is None or len(value) < 3 or value[0] != 1 or value[1] not in self.types:
            return self.shown(value)
        if not self.secret(memoryview(value)):
            return self.shown(value)
        self.hidden = True
        return {"redacted": len(value)}

    def shown_name(self, name: str) -> Any:
        """The JSON form of a header's key."""
        return self.shown(name.encode("utf-8", "surrogateescape")) if self.covered else shown_key(name)

    def kept(self, data: Buffer) -> Any:
        """What an encoder needs, as base64, unless it may hold a secret."""
        view = memoryview(data)
        suspect = self.error is not None and self.suspect is not None and self.suspect(view)
        return {"redacted": len(view)} if self.hidden or self.covered or suspect else base64.b64encode(view).decode()

    def note(self, position: int, path: str, reason: str) -> None:
        """Note what is wrong, in `problems` and in the row under way."""
        self.error = {"offset": position, "path": path, "reason": reason}
        self.problems.append((position, path, reason, self.start))

    def note_problem(self, problem: Problem, position: int, start: int, inside: bool) -> None:
        """Note a problem that the reader of records found."""
        code, record, at, says, here = problem
        suffix, reason = REASONS[code]
        path = "records" if suffix is None else f"records[{record}]{suffix}"
        reason = reason.format(says=says, here=here)
        if inside:
            self.note(position, path, f"{reason} (at 0x{at:x} of the decompressed payload)")
        else:
            self.note(start + at, path, f"{reason} (at 0x{start + at:x})")

    def record_text(self, row: Row, hook: Hook | None, delta: int = 0) -> str:
        """A record's JSON text."""
        offset, time, key, value, headers = row
        members: Members = {
            "offset": offset,
            "timestamp": time,
            "key": self.shown(key),
            "value": self.shown_value(value),
        }
        members["headers"] = [{"key": self.shown_name(name), "value": self.shown(content)} for name, content in headers]
        if delta:
            members["_timestampDelta"] = delta
        text = dumps(members)
        return text[:-1] + hook(key, value).decode() + "}" if hook and not self.covered else text

    def records_row(self, frame: Frame, position: int) -> str:
        """The JSON text of the records of a batch of magic 2."""
        payload = frame.payload or memoryview(b"")
        odd, texts = False, list[str]()
        if frame.count:
            odd, texts = self.record_texts(frame, payload, position)
        else:
            self.cover(payload)
        text = ',"records":[' + ",".join(texts) + "]"
        if self.payloads and (frame.codec or odd or self.error or (frame.count == 0 and payload)):
            text += ',"_payload":' + dumps(self.kept(payload))
        return text

    def record_texts(self, frame: Frame, payload: memoryview, position: int) -> tuple[bool, list[str]]:
        """The records' texts, and whether a canonical writer would encode them differently."""
        data: Buffer = payload
        if frame.codec:
            try:
                data = self.decompress(frame.codec, payload, frame.magic)
            except InputError as error:
                self.note(position, "records", str(error))
                return False, []
        appended = bool(frame.attributes & APPEND_TIME)
        self.cover(data)
        rows, problem = read_records(data, frame.count, frame.base_offset, frame.base_timestamp, False)
        self.records += len(rows)
        if problem is not None:
            self.note_problem(problem, position, position + HEADER_SIZE, bool(frame.codec))
        hook = self.control if frame.attributes & CONTROL else self.record
        texts = []
        for offset, time, key, value, headers in rows:
            delta = (time - frame.base_timestamp + (1 << 63)) % (1 << 64) - (1 << 63) if appended else 0
            row = (offset, frame.max_timestamp if appended else time, key, value, headers)
            texts.append(self.record_text(row, hook, delta))
        return not is_canonical(memoryview(data), frame, rows), texts

    def message_row(self, frame: Frame, entry: memoryview, position: int, place: int | None, full: bool) -> str:
        """The JSON text of a message of magic 0 or 1, with what it wraps."""
        opened: tuple[int, int] | None = (frame.base_offset, 1)
        value = None if frame.payload is None else bytes(frame.payload)
        rows: list[Row] = [(frame.base_offset, frame.max_timestamp, frame.key, value, ())]
        if frame.codec:
            rows, opened = self.open_wrapper(frame, position)
        elif not frame.broken:
            self.cover(entry)
        else:
            says = frame.key_size if frame.broken == 4 else frame.value_size
            self.note_problem((frame.broken, 0, 0, says, frame.size), position, position, False)
            rows = []
        text = dumps(header_row(frame, place, opened))[:-1]
        if not full:
            return text
        self.records += len(rows)
        text += ',"records":[' + ",".join(self.record_text(row, self.record) for row in rows) + "]"
        return text + (self.entry_text(frame, entry) if self.payloads else "")

    def open_wrapper(self, frame: Frame, position: int) -> tuple[list[Row], tuple[int, int] | None]:
        """The messages that a wrapper holds, and their base offset and count, where they can be read."""
        payload = frame.payload
        code = frame.broken or (LEGACY_CODEC if frame.codec > 3 else LEGACY_NULL if payload is None else 0)
        if code or payload is None:
            says = frame.value_size if frame.broken else frame.codec
            self.note_problem((code, 0, 0, says, frame.size), position, position, False)
            return [], None
        try:
            data = self.decompress(frame.codec, payload, frame.magic)
        except InputError as error:
            self.note(position, "records", str(error))
            return [], None
        self.cover(data)
        _frames, _base, problem = open_set(frame, memoryview(data))
        if problem is not None:
            self.note_problem(problem, position, position, True)
            return [], None
        rows, _ = read_messages(data, frame.magic, frame.attributes, frame.base_offset, frame.max_timestamp)
        return rows, (rows[0][0], len(rows))

    def entry_text(self, frame: Frame, entry: memoryview) -> str:
        """The member with the own bytes of a message, where an exact encode needs them, else ""."""
        used = 26 + 8 * (frame.magic == 1) + max(frame.key_size, 0) + max(frame.value_size, 0)
        odd = frame.broken or frame.key_size < -1 or frame.value_size < -1 or used != frame.size
        if odd or (frame.codec and (frame.key is not None or frame.payload is None)):
            return ',"_entry":' + dumps(self.kept(entry))
        if frame.codec and frame.payload is not None:
            return ',"_payload":' + dumps(self.kept(frame.payload))
        return ""


def is_canonical(data: memoryview, frame: Frame, rows: list[Row]) -> bool:
    """Whether a canonical writer gives the records these bytes."""
    again = write_records(
        (
            (
                offset,
                time,
                key,
                value,
                [(name.encode("utf-8", "surrogateescape"), content) for name, content in headers],
            )
            for offset, time, key, value, headers in rows
        ),
        frame.base_offset,
        frame.base_timestamp,
    )
    return bool(data[: len(again)] == again)
