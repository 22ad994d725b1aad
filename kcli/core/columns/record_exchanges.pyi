"""Selects exchanges with wanted records (see record_exchanges.pyx)."""

from typing import Any

from kcli.core.codec.messages import Names
from kcli.core.codec.sink import Sink

class RecordExchanges(Sink):
    def __init__(self, owner: Any, names: Names, partition: int = -1) -> None: ...
