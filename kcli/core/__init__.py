"""The compiled core: readers, writers and kernels in Cython. It reads bytes; the layouts of Kafka's messages are given
to it.

Its import raises CoreMissingError if it was not built.
"""

from importlib.util import find_spec

from kcli.errors import CoreMissingError

if find_spec("kcli.core.codec.messages") is None:
    raise CoreMissingError
