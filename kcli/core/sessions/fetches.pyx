"""Fetch sessions: the state of partitions and fetches, and the kernel that follows steady sessions.

The steady way is an incremental fetch as expected: it has the next epoch, partitions of the session whose positions
moved over delivered records, and a response with news of partitions. `kcli.sessions.incremental_checks` has the rules,
and checks all other fetches. The kernel changes nothing before it is sure that a fetch is steady.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy, memset

from kcli.core.codec.interner cimport *
from kcli.core.codec.request_header cimport *
from kcli.core.codec.messages cimport Node, Selection, put_uuid, uuid_parse
from kcli.core.codec.sink cimport Exchange, Sink

include "interning.pxi"
include "partition_state.pxi"
include "distributions.pxi"
include "statistics.pxi"
include "high_watermarks.pxi"
include "opening.pxi"
include "frames.pxi"
include "incremental.pxi"
include "steady.pxi"
