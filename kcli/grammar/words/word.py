"""The base of the words of Kafka's grammars, which are constructs.

A word parses from a `ByteSource` and builds into a bytearray, with a `DecodeTrace` and the path of the field. This is
several times faster than construct's own way, gives field and offset in each error, and keeps odd encodings. `Grammar`
makes it a construct: it parses any stream, builds, has a size if that is fixed, and returns Containers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from construct import Construct, ConstructError, Container, ListContainer, SizeofError

from kcli.errors import DecodeError, EncodeError, GrammarError, KcliError
from kcli.grammar.words.source import ByteSource, leave, source_of
from kcli.grammar.words.trace import ENCODINGS, DecodeTrace, field_path, inside, trace_of

# Callers of construct's methods catch ConstructError. The base is added here and not in kcli/errors.py, because
# commands that need no grammar start without construct (45 ms).
GrammarError.__bases__ = (KcliError, ConstructError)


class JsonForm(NamedTuple):
    """The form of records in JSON: by size, "raw" as base64, or as `hook` returns them."""

    records: str = "none"
    hook: Callable[[memoryview], bytes] | None = None


class Grammar(Construct):  # type: ignore[type-arg]
    """A construct of Kafka's bytes. A call has a trace of its own, unless construct's context has one (`trace=`). With
    its own, it adds odd encodings to a dict as "_encodings".
    """

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> Any:
        """Return the value at the source. Raises DecodeError with `path` and the field in it."""
        raise NotImplementedError

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        """Append the value's bytes. Raises EncodeError with `path` and the field in it."""
        raise NotImplementedError

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        source, trace, place = source_of(stream), trace_of(context), field_path(path)
        if trace is not None:
            value = in_context(trace, context, lambda: self.parse_word(source, trace, place))
        else:
            value = self.parse_alone(source, context, place)
        leave(stream, source)
        return containers(value)

    def parse_alone(self, source: ByteSource, context: Any, place: str) -> Any:
        """Return the value at the source, with a trace of its own. place: its path in construct's outer words.

        Raises DecodeError.
        """
        trace = DecodeTrace(context=context)
        try:
            value = self.parse_word(source, trace, "")
        except DecodeError as error:
            raise DecodeError(inside(place, error.path), error.offset, error.reason, what=error.what) from None
        if trace.encodings and isinstance(value, dict):
            value[ENCODINGS] = trace.encodings
        return value

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        out, trace, place = bytearray(), trace_of(context), field_path(path)
        if trace is not None:
            in_context(trace, context, lambda: self.build_word(obj, out, trace, place))
        else:
            self.build_alone(obj, out, context, place)
        stream.write(bytes(out))
        return obj

    def build_alone(self, value: Any, out: bytearray, context: Any, place: str) -> None:
        """Append the value's bytes, with a trace of its own. place: its path in construct's outer words.

        Raises EncodeError.
        """
        try:
            self.build_word(value, out, DecodeTrace.of_value(value, context), "")
        except EncodeError as error:
            raise EncodeError(inside(place, error.path), error.reason, what=error.what) from None

    def _actualsize(self, stream: Any, context: Any, path: str) -> int:
        """Return the size of the value at the stream, which moves to its end."""
        source = source_of(stream)
        start = source.tell()
        self.parse_alone(source, context, field_path(path))
        leave(stream, source)
        return source.tell() - start


def in_context(trace: DecodeTrace, context: Any, call: Callable[[], Any]) -> Any:
    outer, trace.context = trace.context, context
    try:
        return call()
    finally:
        trace.context = outer


def containers(value: Any) -> Any:
    """Return a value in construct's form: dicts as Containers, lists as ListContainers."""
    if isinstance(value, dict):
        return Container((name, containers(item)) for name, item in value.items())
    if isinstance(value, list):
        return ListContainer(map(containers, value))
    return value


class Word(Grammar):
    """A word of a grammar.

    least: the fewest bytes of a value; size: the bytes of every value, None if it varies; type: its name in `--format
    tree`; zero: the value written for a missing field; embeds: it has construct's own words, which the compiled core
    cannot read.
    """

    least: int = 0
    size: int | None = None
    type: str = ""
    zero: Any = None
    embeds: bool = False

    def _sizeof(self, context: Any, path: str) -> int:
        if self.size is None:
            raise SizeofError(f"{self.type or 'a word'} takes {self.least} bytes or more", path=path)
        return self.size

    def json_value(self, value: Any, form: JsonForm) -> Any:
        """Return the value in the form of JSON."""
        return value

    def kept(self, value: Any, key: str, trace: DecodeTrace) -> bytes | None:
        """Return the odd bytes that were read for `key`, if they still mean `value`; else None."""
        raw = trace.encodings.get(key)
        if raw is None:
            return None
        source = ByteSource(raw)
        try:
            same = self.parse_word(source, DecodeTrace(), "") == value and source.left() == 0
        except DecodeError:
            return None
        return raw if same else None
