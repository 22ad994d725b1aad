"""Kernels for KRaft snapshots and metadata log segments (KIP-630): millions of records in one pass over a buffer.

`Walk` cuts the records of one uncompressed batch body and yields all except the partitions, which are nearly all
records of a large snapshot; those go to a `Partitions` table, read in place. Sources: Kafka's `DefaultRecord`,
`AbstractApiMessageSerde` (the frame before a metadata record), PartitionRecord.json of 3.0 to 4.4.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy, memset

cdef extern from "snapshot.h" nogil:
    ctypedef struct kc_record:
        int64_t timestamp_delta
        int32_t offset_delta
        const uint8_t* key
        int64_t key_size
        const uint8_t* value
        int64_t value_size
        int32_t headers

    ctypedef struct kc_partition:
        int32_t id
        const uint8_t* topic
        int32_t replicas
        const uint8_t* replica
        int32_t isr
        const uint8_t* in_sync
        int32_t removing
        const uint8_t* removed
        int32_t adding
        const uint8_t* added
        int32_t leader
        int32_t leader_epoch
        int32_t partition_epoch
        int32_t directories
        const uint8_t* directory
        int8_t recovery
        int32_t elr
        const uint8_t* eligible
        int32_t last_known
        const uint8_t* last

    const uint8_t* kc_next_record(const uint8_t* at, const uint8_t* end, kc_record* record)
    const uint8_t* kc_frame(const uint8_t* at, const uint8_t* end, int64_t* frame, int64_t* type, int64_t* version)
    int kc_read_partition(const uint8_t* at, const uint8_t* end, int version, kc_partition* partition)
    uint32_t kc_be32(const uint8_t* at)
    void kc_release(const void* start, size_t size)

cdef extern from "partition_changes.h" nogil:
    ctypedef struct kc_change:
        int32_t id
        const uint8_t* topic

    ctypedef struct kc_state:
        int32_t leader

    ctypedef struct kc_short:
        int32_t leader
        uint8_t where, replicas

    ctypedef union kc_room:
        kc_state state

    enum: KC_NOWHERE
    enum: KC_IN_SHORT
    enum: KC_IN_STATE
    enum: KC_SEEN
    enum: KC_DONE
    enum: KC_WIDER
    enum: KC_REFUSED

    size_t kc_state_size(int width)
    void kc_prefetch_short(const kc_short* state)
    int kc_read_change(const uint8_t* at, const uint8_t* end, int version, kc_change* change)
    int kc_load_short(kc_short* state, const kc_partition* partition)
    void kc_lay_over(kc_state* state, int width, const kc_short* over)
    int kc_apply_short(kc_short* state, const kc_change* change)
    int kc_load_state(kc_state* state, int* width, const kc_partition* partition, int version)
    void kc_copy_state(kc_state* to, int wider, kc_state* source, int width)
    int kc_apply_change(kc_state* state, int* width, const kc_change* change)
    size_t kc_write_state(uint8_t* out, kc_state* state, int width, int32_t id, const uint8_t* topic)
    int kc_short_facts(const kc_short* state)
    int kc_state_facts(const kc_state* state)
    int kc_same_short(const kc_short* state, const kc_partition* rest, const kc_partition* other)
    int kc_same_partition(const kc_partition* a, const kc_partition* b)
    int kc_is_odd_partition(const kc_partition* partition)

__all__ = [
    "FACTS", "PartitionChanges", "Partitions", "StateCounts", "Walk", "count_facts", "partition_facts",
    "same_partition",
]

DEF PARTITION_RECORD = 3
DEF PARTITION_CHANGE = 5
DEF LATEST = 2                    # version of both records
DEF GIVEN = 0                     # the result for a record: it is yielded
DEF COUNTED = 1                   # it is yielded, and was added to the table of partitions
DEF TAKEN = 2                     # it is not yielded
DEF PIECE = 8388608               # bytes of a mapped file that are released at once

include "partition_facts.pxi"
include "partition_table.pxi"
include "state_counts.pxi"
include "topic_states.pxi"
include "partition_changes.pxi"


cdef class Walk:
    """The records of one batch's body (uncompressed, magic 2), in order.

    It yields (offset, key, version, start, end, problem): key and version are the apiKey and version of a metadata
    record, or the type and version of a control record; start:end are the bytes of its message in `body`. problem is ""
    or a code of `kcli.snapshots.reading.walk.PROBLEMS`; a record that can't be cut ends the walk ("record"). With
    `partitions`, readable PartitionRecords go there and are not yielded, and PartitionChangeRecords that it counts are
    counted there. With `changes`, both are applied there. With both, records that are not applied but went to
    `partitions` are yielded with the problem "counted". `matching`: PartitionRecords are not applied, but compared with
    the state. `mapped`: the body is a file's map; pages after use are released, so that memory does not grow.
    """

    cdef Py_buffer view
    cdef bint held, control, mapped, matching, over
    cdef const uint8_t* at
    cdef const uint8_t* end
    cdef const uint8_t* mark
    cdef int64_t base_offset, left, place
    cdef Partitions partitions
    cdef PartitionChanges changes

    def __cinit__(
        self, body, int64_t base_offset, int64_t count, bint control=False, Partitions partitions=None,
        bint mapped=False, PartitionChanges changes=None, bint matching=False,
    ):
        PyObject_GetBuffer(body, &self.view, PyBUF_SIMPLE)
        self.held = True
        self.at = self.mark = <const uint8_t*>self.view.buf
        self.end = self.at + self.view.len
        self.base_offset = base_offset
        self.left = count
        self.place = 0
        self.control = control
        self.partitions = partitions
        self.changes = changes
        self.mapped = mapped
        self.matching = matching
        self.over = False

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)

    def __iter__(self):
        return self

    cdef tuple cut(
        self, int64_t offset, object key, object version, const uint8_t* start, const uint8_t* end, str problem
    ):
        cdef const uint8_t* base = <const uint8_t*>self.view.buf
        return offset, key, version, start - base, end - base, problem

    def __next__(self):
        cdef kc_record record
        cdef const uint8_t* after
        cdef const uint8_t* start
        cdef int64_t offset, frame, key, version
        cdef str problem
        cdef int taken
        while self.left > 0 and not self.over:
            after = kc_next_record(self.at, self.end, &record)
            if after == NULL:
                self.over = True
                return self.cut(self.base_offset, None, None, self.at, self.end, "record")
            self.at = after
            self.left -= 1
            self.place += 1
            offset = self.base_offset + record.offset_delta
            if self.mapped and self.at - self.mark > 2 * PIECE:
                kc_release(self.mark, PIECE)
                self.mark += PIECE
            if record.value == NULL:
                return self.cut(offset, None, None, after, after, "null-value")
            if self.control:
                return self.control_record(&record, offset)
            if record.value_size == 0:
                return self.cut(offset, None, None, after, after, "empty-value")
            start = kc_frame(record.value, record.value + record.value_size, &frame, &key, &version)
            if start == NULL:
                return self.cut(offset, None, None, record.value, after, "frame")
            problem = ""
            if frame != 1:
                problem = "frame-version"
            elif key > 32767 or version > 32767:
                problem = "frame-range"
            elif record.key != NULL:
                problem = "key"
            elif record.headers:
                problem = "headers"
            elif record.offset_delta != self.place - 1:
                problem = "offset"
            elif self.partitions is not None and self.partitions.tally_only(key, version, record.value_size, offset):
                continue
            elif (key == PARTITION_RECORD or key == PARTITION_CHANGE) and version <= LATEST:
                taken = self.take(&record, start, <int>key, <int>version, offset)
                if taken == TAKEN:
                    continue
                if taken == COUNTED:
                    problem = "counted"
            return self.cut(offset, key, version, start, record.value + record.value_size, problem)
        if not self.over and self.at != self.end:
            self.over = True
            return self.cut(self.base_offset, None, None, self.at, self.end, "surplus")
        if self.held:
            self.held = False
            PyBuffer_Release(&self.view)
        self.over = True
        raise StopIteration

    cdef int take(
        self, const kc_record* record, const uint8_t* start, int key, int version, int64_t offset
    ) except -1:
        """Add a PartitionRecord or PartitionChangeRecord to its table. GIVEN: it is to be yielded; COUNTED: it was
        added, and is to be yielded, too.
        """
        cdef const uint8_t* end = record.value + record.value_size
        cdef kc_partition partition
        cdef kc_change change
        cdef int taken = GIVEN
        if key == PARTITION_RECORD:
            if kc_read_partition(start, end, version, &partition) != 0:
                return GIVEN
            if self.partitions is not None:
                self.partitions.add(record, &partition, version, offset)
                taken = COUNTED
            if self.changes is not None:
                if self.matching:
                    return TAKEN if self.changes.match(&partition) else taken
                return TAKEN if self.changes.put(record, &partition) else taken
        else:
            if self.changes is None and (self.partitions is None or not self.partitions.counts_changes):
                return GIVEN
            if kc_read_change(start, end, version, &change) != 0:
                return GIVEN
            if self.partitions is not None and self.partitions.counts_changes:
                self.partitions.tally_row(key, version, record.value_size, offset)
                taken = COUNTED
            if self.changes is not None and not self.matching:
                return TAKEN if self.changes.apply(&change, record.value_size) else taken
        return TAKEN if taken == COUNTED else GIVEN

    cdef tuple control_record(self, const kc_record* record, int64_t offset):
        cdef const uint8_t* key = record.key
        if key == NULL or record.key_size < 4:
            return self.cut(offset, None, None, record.value, record.value + record.value_size, "control-key")
        return self.cut(
            offset, (<int>key[2] << 8) | key[3], (<int>key[0] << 8) | key[1],
            record.value, record.value + record.value_size, "",
        )
