import click
import pytest

from kcli.cli.options.client import client_options, configure
from kcli.errors import UsageError


def test_options_become_a_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    seen: dict[str, object] = {}

    @click.command()
    @client_options
    def command(bootstrap: str | None, settings: tuple[str, ...]) -> None:
        config = configure(bootstrap, settings)
        seen.update(servers=config["bootstrap.servers"], id=config["client.id"])

    command.main(
        ["--bootstrap", "a:1,b:2", "--config", "client.id=me", "--config", "group.id=g"], standalone_mode=False
    )
    assert seen == {"servers": ("a:1", "b:2"), "id": "me"}
    assert capsys.readouterr().err == ("kcli: properties that kcli does not use, ignored: group.id\n")


def test_quiet_names_nothing_and_errors_stay(capsys: pytest.CaptureFixture[str]) -> None:
    configure(None, ["group.id=g"], quiet=True)
    assert capsys.readouterr().err == ""
    with pytest.raises(UsageError, match="did you mean acks"):
        configure(None, ["ackss=all"])


def test_an_address_that_is_none_is_told_at_once() -> None:
    with pytest.raises(UsageError, match="'b' is not HOST:PORT"):
        configure("a:1,b", [])
