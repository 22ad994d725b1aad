"""The options that choose exchanges, alike wherever captures are read."""

from __future__ import annotations

import click
import pytest

from kcli.capture.filters import Filter
from kcli.cli.filter_options import filter_of, filter_options
from kcli.cli.main import cli
from kcli.errors import UsageError

NONE = {"apis": (), "client_id": None, "topic": None, "errors": False, "since": None, "until": None, "dialect": None}


def test_what_the_options_make() -> None:
    assert filter_of(NONE) == Filter()
    some = NONE | {"apis": ("Fetch", "0"), "client_id": "c", "errors": True, "since": "1970-01-01T00:00:01Z"}
    assert filter_of(some) == Filter(frozenset({0, 1}), "c", errors=True, since=1_000_000_000)
    with pytest.raises(UsageError):
        filter_of(NONE | {"until": "soon"})


@pytest.mark.parametrize("name", [("decode", "pcap"), ("stats",)])
def test_commands_have_them(name: tuple[str, ...]) -> None:
    command: click.Command = cli
    for word in name:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    made = filter_options(click.command()(lambda: None))
    assert {param.name for param in made.params} <= {param.name for param in command.params}
