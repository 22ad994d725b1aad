"""Adapts construct's own words for use in kcli's: they read from a source, and see construct's context."""

import base64
import io
from typing import IO, Any, cast

from construct import CancelParsing, Construct, ConstructError, Container, ExplicitError, StopFieldError

from kcli.errors import DecodeError, EncodeError
from kcli.grammar.words.source import ByteSource, Window
from kcli.grammar.words.trace import DecodeTrace
from kcli.grammar.words.word import Grammar, JsonForm, Word

# Exceptions that control construct's outer words; they are no errors of the bytes.
STEERING = (CancelParsing, ExplicitError, StopFieldError)


def as_word(construct: Any) -> Word:
    """Return a construct as a word: unchanged, the grammar of a message, or construct's own word, embedded."""
    if isinstance(construct, Word):
        return construct
    grammar = getattr(construct, "grammar", None) if isinstance(construct, Grammar) else None
    return grammar if isinstance(grammar, Word) else Embedded(construct)


def context_below(trace: DecodeTrace, *, parsing: bool) -> Any:
    """Return construct's context for the fields of a struct, with the trace's context as the outer one."""
    outer = trace.context
    if outer is None:
        outer = Container(_parsing=parsing, _building=not parsing, _sizing=False)
        outer["_params"] = outer
    steps = {name: outer.get(name) for name in ("_params", "_parsing", "_building", "_sizing", "_root", "_index")}
    context = Container(_=outer, **steps)
    context["_root"] = steps["_root"] or context
    return context


class Embedded(Word):
    """A construct that is no word of kcli. Its errors become kcli's, with the path of the field."""

    type = "construct"
    embeds = True

    def __init__(self, subcon: Any) -> None:
        super().__init__()
        if not isinstance(subcon, Construct):
            raise TypeError(f"needs a construct, not {subcon!r}")
        self.subcon = subcon
        self.flagbuildnone = subcon.flagbuildnone
        try:
            self.size = subcon.sizeof()
        except (ConstructError, KeyError, AttributeError):
            self.size = None
        self.least = self.size or 0

    def _sizeof(self, context: Any, path: str) -> int:
        return int(self.subcon._sizeof(context, path))

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> Any:
        start, stream = source.tell(), cast(IO[bytes], Window(source))
        context = trace.context or context_below(trace, parsing=True)
        try:
            value = self.subcon._parsereport(stream, context, construct_path("(parsing)", path))
        except (DecodeError, *STEERING):
            raise
        except ConstructError as error:
            raise DecodeError(path, source.tell(), reason_of(error)) from error
        trace.note(path, start, source.tell(), self.type, value)
        return value

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> Any:
        """Append the bytes of a value; return the value that was built, which Rebuild makes itself. Raises
        EncodeError.
        """
        stream, context = io.BytesIO(), trace.context or context_below(trace, parsing=False)
        try:
            built = self.subcon._build(value, stream, context, construct_path("(building)", path))
        except (EncodeError, *STEERING):
            raise
        except ConstructError as error:
            raise EncodeError(path, reason_of(error)) from error
        out += stream.getvalue()
        return built

    def json_value(self, value: Any, form: JsonForm) -> Any:
        if isinstance(value, dict):
            return {name: self.json_value(item, form) for name, item in value.items() if name != "_io"}
        if isinstance(value, list):
            return [self.json_value(item, form) for item in value]
        if isinstance(value, (bytes, bytearray, memoryview)):
            return base64.b64encode(value).decode()
        return value


def construct_path(verb: str, path: str) -> str:
    return " -> ".join((verb, *path.split("."))) if path else verb


def reason_of(error: ConstructError) -> str:
    """Return the last line of construct's text, as the lines before it have the path."""
    return str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
