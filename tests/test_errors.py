"""The error tree: exit codes, and texts that name file, path and reason."""

import inspect
import subprocess
import sys

from kcli import errors

CLASSES = sorted(
    name
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, errors.KcliError) and value is not errors.GrammarError
)


def test_exit_codes() -> None:
    codes = {name: getattr(errors, name).exit_code for name in CLASSES}
    assert codes == {
        "BrokerError": 4,
        "CertificateError": 4,
        "CoreMissingError": 3,
        "DecodeError": 3,
        "EncodeError": 3,
        "InputError": 3,
        "KcliError": 3,
        "NetworkError": 4,
        "SchemaError": 3,
        "UnknownFieldError": 3,
        "UnreadableError": 3,
        "UsageError": 2,
    }


def test_texts() -> None:
    error = errors.DecodeError("a[3].b", 9, "needs 4 bytes", what="FetchRequest v12")
    assert str(error) == "FetchRequest v12: a[3].b: needs 4 bytes"
    assert str(error.within("x.bin").within("y.bin")) == "x.bin: FetchRequest v12: a[3].b: needs 4 bytes"
    assert str(errors.DecodeError("", 0, "needs 4 bytes")) == "needs 4 bytes"
    assert str(errors.BrokerError(6, "NOT_LEADER_OR_FOLLOWER", "t[0]")) == "t[0]: NOT_LEADER_OR_FOLLOWER (6)"


def test_several_errors_are_told_in_one() -> None:
    first, second = errors.InputError("a", file="x"), errors.InputError("b", file="y")
    assert errors.all_of([first]) is first
    assert str(errors.all_of([first, second])) == "x: a (and 1 more)"


def test_the_tree_is_the_one_drawn_on_top() -> None:
    for name in CLASSES:
        error = getattr(errors, name)
        assert f"{name} " in (errors.__doc__ or "")
        assert error is errors.KcliError or f"{error.__bases__[0].__name__} " in (errors.__doc__ or "")


def test_errors_of_grammars_are_constructs_without_loading_it() -> None:
    """A start without grammar stays fast; with one, `except ConstructError` catches them."""
    code = (
        "import sys, kcli.errors as errors; assert 'construct' not in sys.modules; "
        "import kcli.grammar.words.word; from construct import ConstructError; "
        "assert issubclass(errors.DecodeError, ConstructError) and issubclass(errors.EncodeError, ConstructError); "
        "error = errors.DecodeError('a.b', 7, 'needs more', what='Fetch v1'); "
        "assert (str(error), error.path, error.offset) == ('Fetch v1: a.b: needs more', 'a.b', 7)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
