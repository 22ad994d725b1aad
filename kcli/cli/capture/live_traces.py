"""Spans of live traffic, by `kcli decode pcap --traces` in a process of its own."""

from typing import Any

from kcli.cli.capture.live_findings import untold
from kcli.cli.capture.live_view import LiveView, view_words
from kcli.cli.terminal.output import refuse_inputs
from kcli.errors import UsageError
from kcli.extras import require


def tracer(options: dict[str, Any], text: str) -> LiveView:
    """Return the process that writes spans of live traffic. Raises UsageError if --traces is bad or names an input."""
    require("--traces", "traces")
    if text == "-":
        raise UsageError("--traces -: a file or a URL expected, because rows go to standard output")
    if "://" in text:
        from kcli.traces.destinations import Collector

        Collector(text)  # checked before any output
    else:
        refuse_inputs(text, ())
    words = view_words(options | {"format_": None, "records": None, "time": None, "secrets": None})
    return LiveView([*words, "--traces", text, "--quiet"], untold)
