"""The compiled core: readers, writers and kernels in Cython. Knows bytes, not Kafka's messages.

COMPILED says whether it could be built here; without it kcli runs on its interpreted grammars.
"""

from importlib.util import find_spec

__all__ = ["COMPILED"]

COMPILED: bool = find_spec("kcli.core.codec.messages") is not None
