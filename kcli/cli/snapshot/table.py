"""A survey as one screen of text: a summary, bars for the types of records, and the next commands."""

from textwrap import wrap

from kcli.cli.terminal.commands import listed_commands
from kcli.cli.terminal.console import terminal_width
from kcli.counting import counted, rounded_bytes
from kcli.legible import legible
from kcli.shell import file_word
from kcli.snapshots.reading.file_survey import Survey
from kcli.snapshots.reading.names import parse_snapshot_name, segment_offset
from kcli.snapshots.survey_json import instant, stats_json, type_name

BAR = 24  # cells at most
BESIDE = 2 + 2 + 11 + 2 + 2 + 8  # cells of such a line beside its label and bar
MOST_TYPES = 14


def survey_table(found: Survey, path: str, stats: bool = False) -> list[str]:
    """Return the lines of the whole screen."""
    log = segment_offset(found.file) is not None
    lines = [title(found), whole(found), ""]
    lines += bars(found)
    if not log:
        lines += ["", state(found), *largest(found)]
    if stats:
        lines += ["", "  ".join(f"{name} {value}" for name, value in stats_json(found).items())]
    lines += [f"! {problem}" for problem in found.problems[:5]]
    width = terminal_width()
    made = [part for line in lines for part in wrapped(legible(line), width)]
    if log:
        return made
    commands = (f"kcli snapshot {verb} {file_word(path)}" for verb in ("image", "verify"))
    return [*made, "", "Next:", *listed_commands(commands, width)]


def wrapped(line: str, width: int) -> list[str]:
    """Wrap a line; between its parts (three spaces), else between words."""
    if len(line) <= width:
        return [line]
    parts = line.split("   ")
    if line.startswith(" ") or len(parts) == 1:
        return wrap(line, width, subsequent_indent="  ") or [line]
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + 3 + len(part) <= width:
            lines[-1] += "   " + part
        else:
            lines.append("  " + part)
    return lines


def title(found: Survey) -> str:
    name, base = parse_snapshot_name(found.file), segment_offset(found.file)
    if base is not None:
        offsets = f"{found.offsets[0]}-{found.offsets[1]}" if found.offsets else "empty"
        return f"metadata log segment from offset {base}   offsets {offsets}   {instants(found)}"
    parts = [f"snapshot {found.file}"]
    if name is not None:
        parts = [f"snapshot up to offset {name.id.end_offset} (exclusive), epoch {name.id.epoch}"]
    if found.metadata_version:
        parts.append(f"metadata {found.metadata_version}")
    if found.kraft_version is not None:
        voters = ", ".join(str(each["voterId"]) for each in found.voters or ())
        parts.append(f"KRaft {found.kraft_version}" + (f", voters {voters}" if voters else ""))
    if time := instant(found.header_timestamp):
        parts.append(f"last record {time[:10]} {time[11:19]}Z")
    return "   ".join(parts)


def instants(found: Survey) -> str:
    if not found.timestamps:
        return ""
    first, last = (instant(ms) or "?" for ms in found.timestamps)
    return f"{first[:19].replace('T', ' ')}Z to {last[:19].replace('T', ' ')}Z"


def whole(found: Survey) -> str:
    checks = f"{counted(len(found.bad_checksums), 'CRC')} WRONG" if found.bad_checksums else "CRCs good"
    records, batches = counted(found.records, "record"), counted(found.batches, "batch", "batches")
    parts = [f"{records}, {rounded_bytes(found.size)}, {batches}, {checks}"]
    if found.unread:
        parts.append(f"{found.unread:,} NOT READ")
    if codecs := [name for name in found.compressions if name != "none"]:
        parts.append(f"compressed: {', '.join(codecs)}")
    if segment_offset(found.file) is None and found.control("SNAPSHOT_FOOTER") is None:
        parts.append("NO FOOTER")
    return ", ".join(parts)


def bars(found: Survey) -> list[str]:
    """Return a line for each type and version, by bytes."""
    rows = sorted(found.types.items(), key=lambda item: -item[1][1])
    most = max((row[1] for _, row in rows), default=0)
    labels = [f"{type_name(key)} v{version}" for (key, version), _ in rows]
    wide = max((len(label) for label in labels), default=0)
    room = max(0, min(BAR, terminal_width() - wide - BESIDE))
    lines = [
        f"  {label:<{wide}}  {row[0]:>11,}  {bar(row[1], most, room):<{room}}  {rounded_bytes(row[1]):>8}"
        for label, (_, row) in zip(labels, rows, strict=True)
    ]
    if len(lines) > MOST_TYPES:
        rest = rows[MOST_TYPES:]
        count, size = sum(row[0] for _, row in rest), rounded_bytes(sum(row[1] for _, row in rest))
        lines[MOST_TYPES:] = [f"  {f'{len(rest)} more types':<{wide}}  {count:>11,}  {'':<{room}}  {size:>8}"]
    return lines


EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(size: int, most: int, room: int = BAR) -> str:
    if not room:
        return ""
    filled, part = divmod(round(size / most * room * 8), 8) if most else (0, 0)
    return "█" * filled + (EIGHTHS[part] if part else "" if filled else EIGHTHS[1])


def state(found: Survey) -> str:
    facts = found.facts
    brokers = counted(found.brokers, "broker") + (f" ({found.fenced:,} fenced)" if found.fenced else "")
    partitions = (
        f"{counted(found.partitions, 'partition')}: {facts.get('offline', 0):,} offline, "
        f"{facts.get('under-replicated', 0):,} under-replicated"
    )
    if facts.get("reassigning"):
        partitions += f", {facts['reassigning']:,} reassigning"
    parts = [brokers, counted(found.topics, "topic"), partitions]
    others = ((4, "config"), (18, "ACL"), (14, "quota"), (11, "SCRAM credential"), (10, "delegation token"))
    parts += [counted(count, label) for key, label in others if (count := found.count(key))]
    return "   ".join(parts)


def largest(found: Survey) -> list[str]:
    if not found.largest or found.topics < 2:
        return []
    shown = ", ".join(
        f"{name} ({counted(count, 'partition')}, {rounded_bytes(size)})" for name, count, size in found.largest[:3]
    )
    return [f"largest topics: {shown}"]
