"""Every error kcli raises on purpose.

KcliError                     exit 3 unless a class below says otherwise
├── CoreMissingError                   the compiled core was not built; an ImportError, too
├── UsageError                exit 2   the command line, or an argument of a library call, makes no sense
├── InputError                exit 3   input that can't be read as what it should be
│   ├── DecodeError                    bytes that break their grammar: where (path, offset), what was expected
│   ├── EncodeError                    a value that its grammar has no bytes for
│   │   └── UnknownFieldError          a field that this version of its message lacks
│   ├── SchemaError                    a message definition that contradicts itself
│   └── UnreadableError                a file that the system does not open or read
└── NetworkError              exit 4   a connection that can't be made, kept or trusted
    ├── CertificateError               a certificate that is not trusted
    └── BrokerError                    a broker that answered with an error code

What Ctrl-C ends has exit code INTERRUPTED.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kcli.input_names import name_of

INTERRUPTED = 130  # 128 plus the number of SIGINT, as in shells


class KcliError(Exception):
    """The base of kcli's errors. Its text is one line for a person: what is wrong, where, why, and what was
    expected.
    """

    exit_code = 3


class CoreMissingError(KcliError, ImportError):
    """The compiled core was not built, or was built from other sources."""

    def __init__(self, what: str = "not built") -> None:
        super().__init__(
            f"the compiled core is {what}: install a wheel of kcli-kafka, or build it with a C compiler "
            "(`pip install .` in a clone of kcli, or `make`)"
        )


class UsageError(KcliError):
    """A command line, or an argument of a library call, makes no sense."""

    exit_code = 2


class InputError(KcliError):
    """Input cannot be read. `file` is the name that the text begins with, set by the caller that knows it
    (`within`).
    """

    def __init__(self, text: str, *, file: str | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.file = file

    def within(self, file: str) -> InputError:
        """Set the file that this error is about, unless it is set; return self."""
        self.file = self.file or file
        return self

    def __str__(self) -> str:
        return f"{name_of(self.file)}: {self.text}" if self.file else self.text


class UnreadableError(InputError):
    """The system does not open or read a file."""


def unreadable(error: OSError, file: str) -> UnreadableError:
    """Return the error for a file that the system does not open or read, with the system's reason. No file has the
    name of standard input, which options such as --key-log do not read.
    """
    if isinstance(error, FileNotFoundError) and file in ("-", "standard input"):
        return UnreadableError("not read here (a file expected)", file="standard input")
    return UnreadableError(error.strerror or str(error), file=file)


def all_of(errors: Sequence[InputError]) -> InputError:
    """Return one error for several: the first, with the number of the others."""
    first, more = errors[0], len(errors) - 1
    return InputError(f"{first.text} (and {more} more)", file=first.file) if more else first


if TYPE_CHECKING:
    from construct import ConstructError

    class GrammarError(KcliError, ConstructError): ...

else:

    class GrammarError(KcliError):
        """Bytes and a grammar do not fit. It is a construct.ConstructError, too, once kcli.grammar is imported; most
        commands start without construct.
        """


class DecodeError(InputError, GrammarError):
    """Bytes break their grammar.

    path: the field, as `topics[3].partitions[5].fetchOffset` ("" for the message itself)
    offset: bytes from the start of the buffer
    reason: what is wrong, and what was expected
    """

    path: str

    def __init__(self, path: str, offset: int, reason: str, *, what: str = "", file: str | None = None) -> None:
        super().__init__(": ".join(part for part in (what, path, reason) if part), file=file)
        self.path, self.offset, self.reason, self.what = path, offset, reason, what


class EncodeError(InputError, GrammarError):
    """A grammar has no bytes for a value; `path` names the field."""

    path: str

    def __init__(self, path: str, reason: str, *, what: str = "", file: str | None = None) -> None:
        super().__init__(": ".join(part for part in (what, path, reason) if part), file=file)
        self.path, self.reason, self.what = path, reason, what


class UnknownFieldError(EncodeError):
    """A value has a field that this version of its message lacks.

    known: the names of the fields in this version. versions: the versions that have the field, "" if there are none.
    """

    def __init__(self, path: str, field: str, known: Iterable[str], *, versions: str = "", what: str = "") -> None:
        elsewhere = f", versions {versions} have it" if versions else ""
        names = ", ".join(sorted(known)) or "none"
        super().__init__(path, f"has no field {field!r} in this version{elsewhere} (it has: {names})", what=what)
        self.field, self.known = field, known


class SchemaError(InputError):
    """A message definition contradicts itself, or the tables lack a version."""


class NetworkError(KcliError):
    """A connection cannot be made, kept or trusted."""

    exit_code = 4


class CertificateError(NetworkError):
    """A certificate is not trusted: it has expired, is for another name, or its authority is not trusted."""


class BrokerError(NetworkError):
    """A broker responded with an error code; `code` is the number, `name` Kafka's name."""

    def __init__(self, code: int, name: str, text: str) -> None:
        super().__init__(f"{text}: {name} ({code})")
        self.code, self.name = code, name
