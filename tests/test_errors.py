"""The error tree: exit codes, and texts that name file, path and reason."""

from __future__ import annotations

from kcli import errors


def test_exit_codes() -> None:
    codes = {name: getattr(errors, name).exit_code for name in errors.__all__}
    assert codes == {
        "BrokerError": 4,
        "DecodeError": 3,
        "EncodeError": 3,
        "InputError": 3,
        "KcliError": 3,
        "NetworkError": 4,
        "SchemaError": 3,
        "UsageError": 2,
    }


def test_texts() -> None:
    error = errors.DecodeError("a[3].b", 9, "needs 4 bytes", what="FetchRequest v12")
    assert str(error) == "FetchRequest v12: a[3].b: needs 4 bytes"
    assert str(error.within("x.bin").within("y.bin")) == "x.bin: FetchRequest v12: a[3].b: needs 4 bytes"
    assert str(errors.DecodeError("", 0, "needs 4 bytes")) == "needs 4 bytes"
    assert str(errors.BrokerError(6, "NOT_LEADER_OR_FOLLOWER", "t[0]")) == "t[0]: NOT_LEADER_OR_FOLLOWER (6)"


def test_the_tree_is_the_one_drawn_on_top() -> None:
    for name in errors.__all__:
        error = getattr(errors, name)
        assert f"{name} " in (errors.__doc__ or "")
        assert error is errors.KcliError or f"{error.__base__.__name__} " in (errors.__doc__ or "")
