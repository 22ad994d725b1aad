"""Finds the likely slip in a request or response that does not decode: at a field, or in the frame as a whole."""

from collections.abc import Callable, Iterable
from functools import partial

from kcli.grammar import messages
from kcli.grammar.request_start import PREFIX, api_of
from kcli.grammar.slips.everywhere import repeated_hints
from kcli.grammar.slips.places import Layout, Place
from kcli.grammar.slips.search import BESIDE, Hint, field_hints, joined, likeliest, oddness_of, repairs_at, tried
from kcli.grammar.slips.throughout import throughout_hints
from kcli.schemas.catalog import catalog

VERSIONS = 4  # most versions in one hint
VERSION_AT = 2  # its offset in a request's header
LayoutOf = Callable[[int], Layout]  # (version) -> layout


def hints_text(hints: list[Hint], start: int = 0) -> str:
    """Join hints to one text, "" without any. start: the offset of the frame in the input."""
    return joined(hints, start, "it reads to its end")


def request_hints(frame: bytes, dialect: str | None = None) -> list[Hint]:
    """Return the likely slips in a request that does not decode, the likeliest first, at most three; [] if no edit
    repairs it, or it does decode. Time and memory are bounded.
    """
    if len(frame) < PREFIX:
        return []
    api_key, version = api_of(frame)
    known = catalog(dialect).api(api_key)
    if known is None:
        return likeliest(start_hints(frame, dialect))
    if version in known.versions and request_layout(api_key, version, dialect).reads(frame):
        return []
    found = frame_hints(frame, known.versions, version, lambda of: request_layout(api_key, of, dialect), dialect)
    if version in known.versions:
        found += next_message(request_layout(api_key, version, dialect), frame, partial(is_request, dialect=dialect))
    return likeliest(found + start_hints(frame, dialect))


def is_request(frame: bytes, dialect: str | None) -> bool:
    """Return whether the frame is a whole request of a known API and version."""
    if len(frame) < 2 * PREFIX:
        return False
    api_key, version = api_of(frame)
    return catalog(dialect).knows(api_key, version) and request_layout(api_key, version, dialect).reads(frame)


def response_hints(frame: bytes, api_key: int, version: int, dialect: str | None = None) -> list[Hint]:
    """Return the likely slips in the response to a request with this API and version, as `request_hints`."""

    def layout(of: int) -> Layout:
        return Layout(messages.response_header(api_key, of, dialect), messages.response(api_key, of, dialect))

    known = catalog(dialect).api(api_key)
    if known is None or (version in known.versions and layout(version).reads(frame)):
        return []
    found = frame_hints(frame, known.versions, version, layout, dialect)
    if version in known.versions:
        found += next_message(layout(version), frame, layout(version).reads)
    return likeliest(found)


def request_layout(api_key: int, version: int, dialect: str | None) -> Layout:
    header = catalog(dialect).apis[api_key].request_header_version(version)
    return Layout(messages.data("RequestHeader", header, dialect), messages.request(api_key, version, dialect))


def frame_hints(
    frame: bytes, versions: Iterable[int], version: int, layout_of: LayoutOf, dialect: str | None
) -> list[Hint]:
    """Return all hints for a frame. versions: those of its API; version: the frame's."""
    others = {each: layout_of(each) for each in versions if each != version}
    found = version_hint(others, frame)
    if version in versions:
        layout = layout_of(version)
        found += header_hint(layout, frame, dialect)
        found += version_hint(behind_header(layout, others), frame, f", after the header of v{version}")
        found += [*field_hints(layout, frame), *repeated_hints(layout, frame), *throughout_hints(layout, frame)]
    return found


def behind_header(layout: Layout, others: dict[int, Layout]) -> dict[int, Layout]:
    """Return the layouts of other versions with the header of this one, for versions that have another header."""
    return {
        version: Layout(layout.header, other.body)
        for version, other in others.items()
        if other.header.version != layout.header.version
    }


def version_hint(layouts: dict[int, Layout], frame: bytes, behind: str = "") -> list[Hint]:
    """Return one hint with the versions in which a frame reads to its end. behind: more words."""
    scores = {each: oddness_of(layout, frame) for each, layout in layouts.items() if layout.reads(frame)}
    if not scores:
        return []
    least = min(scores.values())
    likely = [f"v{each}" for each in scores if scores[each] <= least + BESIDE]
    if len(likely) > VERSIONS:
        likely[VERSIONS:] = [f"{len(likely) - VERSIONS} more"]
    return [Hint("version", VERSION_AT, f"as {' or '.join(likely)}{behind}", "was that meant?", frame, least)]


def header_hint(layout: Layout, frame: bytes, dialect: str | None) -> list[Hint]:
    """Return a hint if the header is that of flexible versions instead of others, or the reverse; only one has a tag
    section.
    """
    name, number = layout.header.name, layout.header.version
    plain = 1 if name == "RequestHeader" else 0
    if number not in (plain, plain + 1):
        return []
    other = messages.data(name, 2 * plain + 1 - number, dialect)
    written = Layout(other, layout.body)
    if not written.reads(frame):
        return []
    end = other.skip(frame)
    if number > plain:
        at, right = end, frame[:end] + b"\0" + frame[end:]
    else:
        at, right = end - 1, frame[: end - 1] + frame[end:]
    words, question = f"with a header v{number}, which differs", f"was v{other.version} written?"
    return [Hint("header", at, words, question, right, oddness_of(written, frame))]


def next_message(layout: Layout, frame: bytes, reads: Callable[[bytes], bool]) -> list[Hint]:
    """Return a hint if the bytes after the message are a frame with its length, or a message that `reads` accepts."""
    walk = layout.walk(frame, 1)
    rest = frame[walk.end :]
    if walk.error is not None or len(rest) < 2 * PREFIX:
        return []
    if int.from_bytes(rest[:PREFIX], "big") == len(rest) - PREFIX:
        words, question = "as a message and the next one behind its length", "does one length count both?"
    elif reads(rest):
        words, question = "as a message and the next one", "was the length in front of that left out?"
    else:
        return []
    return [Hint("next message", walk.end, words, question, frame[: walk.end], 0.0)]


def start_hints(frame: bytes, dialect: str | None) -> list[Hint]:
    """Return hints for an API key or version that has another width, or is there twice."""
    found, tables = list[Hint](), catalog(dialect)
    for at, name in ((0, "requestApiKey"), (VERSION_AT, "requestApiVersion")):
        for repair in repairs_at(Place(name, at, at + 2, "int16", closes=False), frame):
            api_key, version = api_of(repair.mend(frame))
            known = tables.api(api_key)
            if known is not None and version in known.versions and repair.slip != "left out":
                found += tried(request_layout(api_key, version, dialect), frame, repair)
    return found
