"""Exchanges as rows of a table, with a summary in words (see exchange_summaries.pyx)."""

from typing import Any

from kcli.core.codec.sink import Sink

class ExchangeSummaries(Sink):
    def __init__(self, owner: Any) -> None: ...
