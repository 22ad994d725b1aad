"""Fetch sessions at C speed: what is kept of partitions and fetches, and the kernel that follows a session's steady way.

The steady way is an incremental fetch that is what it should be: the epoch that is due, partitions of the session whose
positions moved over delivered records, an answer with news about them. `kcli.sessions.incremental_checks` has the rules, and
follows all else. The kernel changes nothing before it is sure.
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
