"""The options of both replays for the topics of the live cluster."""

import click

from kcli.cli.options import Command


def live_topics_options(command: Command) -> Command:
    """Add --topic-map, as `topics` (see `parse_topic_map`), and --create-topics, as `create`."""
    command = click.option(
        "--create-topics/--no-create-topics", "create", default=True, help="Create topics that the cluster lacks."
    )(command)
    return click.option(
        "--topic-map", "topics", multiple=True, metavar="CAPTURED=LIVE", help="Replay a captured topic on another one."
    )(command)
