"""The compiled core: readers, writers and kernels in Cython. Knows bytes, not Kafka's messages.

CoreMissingError, when it is imported: it was not built.
"""

from importlib.util import find_spec

from kcli.errors import CoreMissingError

if find_spec("kcli.core.codec.messages") is None:
    raise CoreMissingError
