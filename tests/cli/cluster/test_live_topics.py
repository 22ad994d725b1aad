"""The options of both replays for the topics of the live cluster."""

from typing import Any

import click
import pytest
from click.testing import CliRunner

from kcli.cli.cluster.live_topics import live_topics_options


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], {"topics": (), "create": True}),
        (
            ["--topic-map", "a=b", "--topic-map", "c=d", "--no-create-topics"],
            {"topics": ("a=b", "c=d"), "create": False},
        ),
    ],
)
def test_what_a_command_gets(words: list[str], given: dict[str, Any]) -> None:
    taken: dict[str, Any] = {}

    @click.command()
    @live_topics_options
    def command(**options: Any) -> None:
        taken.update(options)

    assert CliRunner().invoke(command, words).exit_code == 0
    assert taken == given
