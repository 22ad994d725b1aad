"""Exchanges as rows of a table, with what was said in words (see exchange_summaries.pyx)."""

from typing import Any

from kcli.core.codec.sink import Sink

class ExchangeSummaries(Sink):
    def __init__(self, owner: Any) -> None: ...
