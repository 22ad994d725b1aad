"""The compiled core: readers, writers and kernels in Cython. It reads bytes; the layouts of Kafka's messages are given
to it.

Three words in its comments: the steady way is the core's own, without Python objects, for bytes as clients usually send
them. The slower way is that of the readers in Python, which have all the rules: of a connection those that
kcli.capture.handover makes, of a message the grammar. Bytes that the core leaves to them are odd; of a number in a
record it is odd if it is longer than it has to be.

Its import raises CoreMissingError if it was not built.
"""

from importlib.util import find_spec

from kcli.errors import CoreMissingError

if find_spec("kcli.core.codec.messages") is None:
    raise CoreMissingError
