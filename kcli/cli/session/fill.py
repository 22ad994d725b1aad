"""`kcli fetch-session replay --fill`: topics get the records that captures show, before their fetches run again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from kcli.capture.api import read_capture
from kcli.cli.options.exchange_sources import need_captures
from kcli.cli.terminal.console import warn
from kcli.client.properties import ClientConfig
from kcli.replay.sessions.plan import ReplayPlan
from kcli.replay.sessions.runner import FetchOptions
from kcli.replay.topic_mapping import TopicNames


def fill_topics(
    files: Sequence[str],
    plan: ReplayPlan,
    names: TopicNames,
    config: ClientConfig,
    options: FetchOptions,
    quiet: bool,
    **reading: Any,
) -> None:
    """Make the plan's topics where they are missing, and write to empty ones the records that the captures show."""
    need_captures(files, "--fill takes records from capture files only")
    from kcli.broker.rebuilt.capture_history import CaptureHistory
    from kcli.replay.filling import fill_all

    # What is wrong with a file was reported when its fetches were read.
    history = CaptureHistory.of(read_capture(files, **reading).items(), lambda _: None)
    sizes: dict[str, int] = {}
    for captured, size in plan.partitions().items():
        name = names.live_name(captured, options.topics)
        sizes[name] = max(sizes.get(name, 0), size)
    done = asyncio.run(fill_all(config, history, lambda name: names.live_name(name, options.topics), sizes))
    if not quiet:
        warn(str(done))
