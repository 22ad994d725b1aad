"""Kernels for KRaft snapshots and metadata log segments (KIP-630): millions of records in one pass over a buffer.

`Walk` cuts the records of one uncompressed batch body and hands out all but the partitions, which are nearly all there
is in a large snapshot; those go into a `Partitions` table, read in place. Sources: Kafka's `DefaultRecord`,
`AbstractApiMessageSerde` (the frame before a metadata record), PartitionRecord.json of 3.0 to 4.4.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
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
        int32_t adding
        int32_t leader
        int32_t leader_epoch
        int32_t partition_epoch
        int32_t directories
        const uint8_t* directory
        int8_t recovery
        int32_t elr
        const uint8_t* eligible
        int32_t last_known

    const uint8_t* kc_next_record(const uint8_t* at, const uint8_t* end, kc_record* record)
    const uint8_t* kc_frame(const uint8_t* at, const uint8_t* end, int64_t* frame, int64_t* type, int64_t* version)
    int kc_read_partition(const uint8_t* at, const uint8_t* end, int version, kc_partition* partition)
    uint32_t kc_big32(const uint8_t* at)
    void kc_release(const void* start, size_t size)

__all__ = ["FACTS", "Partitions", "Walk", "count_facts", "partition_facts"]

DEF PARTITION_RECORD = 3
DEF PAIRS = 4096
DEF VERSIONS = 16
DEF PIECE = 8388608
DEF FEW = 64                      # replicas that are looked through one by one

# What `partition_facts` and `Partitions.store` say of a partition, one bit each.
DEF OFFLINE = 1
DEF UNDER_REPLICATED = 2
DEF REASSIGNING = 4
DEF WITH_ELR = 8
DEF NOT_PREFERRED = 16
DEF RECOVERING = 32
FACTS = {
    "offline": OFFLINE,
    "under-replicated": UNDER_REPLICATED,
    "reassigning": REASSIGNING,
    "with-elr": WITH_ELR,
    "not-preferred": NOT_PREFERRED,
    "recovering": RECOVERING,
}


cdef int judge(const kc_partition* partition) noexcept nogil:
    cdef int facts = 0
    if partition.leader < 0:
        facts |= OFFLINE
    elif partition.replicas and <int32_t>kc_big32(partition.replica) != partition.leader:
        facts |= NOT_PREFERRED
    if partition.isr < partition.replicas:
        facts |= UNDER_REPLICATED
    if partition.removing or partition.adding:
        facts |= REASSIGNING
    if partition.elr > 0:
        facts |= WITH_ELR
    if partition.recovery:
        facts |= RECOVERING
    return facts


cdef tuple ints(const uint8_t* items, int32_t count):
    cdef int index
    return tuple([<int32_t>kc_big32(items + 4 * index) for index in range(count)])


def partition_facts(framed not None):
    """(facts, leader, replicas, isr) of a PartitionRecord's value, frame and all; facts as bits of FACTS.

    None where the kernel refuses: another record, a layout it does not know, damage.
    """
    cdef Py_buffer view
    cdef kc_partition partition
    cdef const uint8_t* data
    PyObject_GetBuffer(framed, &view, PyBUF_SIMPLE)
    try:
        data = <const uint8_t*>view.buf
        if view.len < 4 or data[0] != 1 or data[1] != PARTITION_RECORD or data[2] > 2:
            return None
        if kc_read_partition(data + 3, data + view.len, data[2], &partition) != 0:
            return None
        return (
            judge(&partition), partition.leader,
            ints(partition.replica, partition.replicas), ints(partition.in_sync, partition.isr),
        )
    finally:
        PyBuffer_Release(&view)


def count_facts(dict partitions not None, list totals not None):
    """Add to totals[i] the partitions for which bit i of FACTS holds; the values the kernel refuses, as a list."""
    cdef kc_partition partition
    cdef const uint8_t* data
    cdef Py_ssize_t size
    cdef int facts, bit
    cdef int64_t[6] sums
    cdef list others = []
    memset(sums, 0, sizeof(sums))
    for framed in partitions.values():
        if not isinstance(framed, bytes):
            others.append(framed)
            continue
        data = <const uint8_t*>PyBytes_AS_STRING(framed)
        size = len(<bytes>framed)
        if size < 4 or data[0] != 1 or data[1] != PARTITION_RECORD or data[2] > 2:
            others.append(framed)
        elif kc_read_partition(data + 3, data + size, data[2], &partition) != 0:
            others.append(framed)
        else:
            facts = judge(&partition)
            for bit in range(6):
                sums[bit] += (facts >> bit) & 1
    for bit in range(6):
        totals[bit] += sums[bit]
    return others


cdef class Partitions:
    """What the partitions of a snapshot add up to, and the checks on each that need no other record.

    count, size: records and bytes; by_version: {version: [count, bytes]}; facts: {name: count}
    topics: {topic id: [count, bytes, highest id, sum of ids and of their squares mod 2**64, offset of the first]}
    pairs: {(broker, directory id or None): offset of its first record}, with `references`
    broken: [(offset, topic id, partition, code)] at most `most`, code as in BREAKS; broken_count is all of them
    store: {topic id: {partition: frame bytes}} when given: the records themselves
    quiet: types of metadata records (below 64) that a Walk only counts here, without giving them out
    tallies: {(apiKey, version): [count, bytes, most bytes, offset of that one]} of those
    """

    cdef readonly int64_t count, size, broken_count
    cdef int64_t[8] tally
    cdef int64_t[3] versions, sizes
    cdef readonly dict topics, pairs, store
    cdef readonly list broken
    cdef readonly int most
    cdef bint references
    cdef uint8_t[16] topic
    cdef int64_t run, run_bytes, run_high, run_first
    cdef uint64_t run_sum, run_squares
    cdef bint open
    cdef dict shelf
    cdef uint64_t quiet
    cdef int64_t[64][VERSIONS][4] rows
    cdef uint8_t[PAIRS][20] seen
    cdef uint8_t[PAIRS] known

    def __cinit__(self, bint references=False, store=None, int most=100, quiet=()):
        memset(self.tally, 0, sizeof(self.tally))
        memset(self.versions, 0, sizeof(self.versions))
        memset(self.sizes, 0, sizeof(self.sizes))
        memset(self.known, 0, sizeof(self.known))
        memset(self.rows, 0, sizeof(self.rows))
        self.quiet = 0
        for key in quiet:
            self.quiet |= <uint64_t>1 << <int>key
        self.count = self.size = self.broken_count = 0
        self.topics = {}
        self.pairs = {}
        self.store = store
        self.broken = []
        self.most = most
        self.references = references
        self.open = False

    @property
    def facts(self):
        return {name: self.tally[index] for index, name in enumerate(FACTS)}

    @property
    def by_version(self):
        return {version: [self.versions[version], self.sizes[version]] for version in range(3) if self.versions[version]}

    @property
    def tallies(self):
        return {
            (key, version): [self.rows[key][version][index] for index in range(4)]
            for key in range(64)
            for version in range(VERSIONS)
            if self.rows[key][version][0]
        }

    cdef bint tally_only(self, int64_t key, int64_t version, int64_t size, int64_t offset) noexcept:
        cdef int64_t* row
        if key >= 64 or version >= VERSIONS or not (self.quiet >> key) & 1:
            return False
        row = self.rows[key][version]
        row[0] += 1
        row[1] += size
        if size > row[2]:
            row[2] = size
            row[3] = offset
        return True

    def close(self):
        """Bring the figures of the last topic up to date; call it before reading `topics`."""
        cdef list row
        if not self.open:
            return
        self.open = False
        topic = PyBytes_FromStringAndSize(<char*>self.topic, 16)
        row = self.topics.get(topic)
        if row is None:
            self.topics[topic] = [self.run, self.run_bytes, self.run_high, self.run_sum, self.run_squares, self.run_first]
            return
        row[0] += self.run
        row[1] += self.run_bytes
        row[2] = max(row[2], self.run_high)
        row[3] = (row[3] + self.run_sum) & 0xFFFFFFFFFFFFFFFF
        row[4] = (row[4] + self.run_squares) & 0xFFFFFFFFFFFFFFFF

    def forget(self, bytes topic not None):
        """Drop what `store` has of a topic: its record comes anew, and empties it."""
        if self.open and memcmp(self.topic, PyBytes_AS_STRING(topic), 16) == 0:
            self.close()
        if self.store is not None:
            self.store.pop(topic, None)

    cdef int begin(self, const uint8_t* topic, int64_t offset) except -1:
        self.close()
        self.run_first = offset
        memcpy(self.topic, topic, 16)
        self.run = self.run_bytes = 0
        self.run_high = -1
        self.run_sum = self.run_squares = 0
        self.open = True
        if self.store is not None:
            name = PyBytes_FromStringAndSize(<char*>topic, 16)
            self.shelf = self.store.get(name)
            if self.shelf is None:
                self.shelf = self.store[name] = {}
        return 0

    cdef int add(self, const kc_record* record, const kc_partition* partition, int version, int64_t offset) except -1:
        cdef int facts = judge(partition), bit
        if not self.open or memcmp(self.topic, partition.topic, 16) != 0:
            self.begin(partition.topic, offset)
        for bit in range(6):
            self.tally[bit] += (facts >> bit) & 1
        self.count += 1
        self.size += record.value_size
        self.versions[version] += 1
        self.sizes[version] += record.value_size
        self.run += 1
        self.run_bytes += record.value_size
        if partition.id > self.run_high:
            self.run_high = partition.id
        self.run_sum += <uint64_t>partition.id
        self.run_squares += <uint64_t>partition.id * <uint64_t>partition.id
        if self.references:
            self.refer(partition, offset)
        if self.store is not None:
            self.shelf[partition.id] = PyBytes_FromStringAndSize(<char*>record.value, record.value_size)
        return 0

    cdef int refer(self, const kc_partition* partition, int64_t offset) except -1:
        cdef int index
        cdef int32_t broker
        cdef const uint8_t* directory
        for index in range(partition.replicas):
            directory = NULL
            if index < partition.directories:
                directory = partition.directory + 16 * index
            self.note(partition.replica + 4 * index, directory, offset)
        replicas = None
        if partition.replicas > FEW:
            replicas = set(ints(partition.replica, partition.replicas))
        for index in range(partition.isr):
            if not among(partition.in_sync + 4 * index, partition, replicas):
                self.fault(partition, offset, "isr")
        for index in range(partition.elr):
            if not among(partition.eligible + 4 * index, partition, replicas):
                self.fault(partition, offset, "elr")
        if partition.replicas == 0:
            self.fault(partition, offset, "replicas")
        if partition.id < 0:
            self.fault(partition, offset, "id")
        if partition.directories > 0 and partition.directories != partition.replicas:
            self.fault(partition, offset, "directories")
        if partition.leader >= 0:
            broker = partition.leader
            for index in range(partition.isr):
                if <int32_t>kc_big32(partition.in_sync + 4 * index) == broker:
                    return 0
            self.fault(partition, offset, "leader")
        return 0

    cdef int note(self, const uint8_t* broker, const uint8_t* directory, int64_t offset) except -1:
        cdef uint32_t slot = kc_big32(broker) * 2654435761u
        cdef uint8_t[20] pair
        memcpy(pair, broker, 4)
        if directory == NULL:
            memset(pair + 4, 0, 16)
        else:
            memcpy(pair + 4, directory, 16)
            slot ^= kc_big32(directory) ^ kc_big32(directory + 8)
        slot = (slot ^ (slot >> 15)) % PAIRS
        if self.known[slot] and memcmp(self.seen[slot], pair, 20) == 0:
            return 0
        self.known[slot] = 1
        memcpy(self.seen[slot], pair, 20)
        identity = PyBytes_FromStringAndSize(<char*>directory, 16) if directory != NULL else None
        self.pairs.setdefault((<int32_t>kc_big32(broker), identity), offset)
        return 0

    cdef int fault(self, const kc_partition* partition, int64_t offset, str code) except -1:
        self.broken_count += 1
        if len(self.broken) < self.most:
            topic = PyBytes_FromStringAndSize(<char*>partition.topic, 16)
            self.broken.append((offset, topic, partition.id, code))
        return 0


cdef bint among(const uint8_t* broker, const kc_partition* partition, set replicas) except -1:
    """Whether a broker is a replica. replicas: the set of them, where they are more than FEW."""
    cdef int index
    if replicas is not None:
        return <int32_t>kc_big32(broker) in replicas
    for index in range(partition.replicas):
        if memcmp(broker, partition.replica + 4 * index, 4) == 0:
            return True
    return False


cdef class Walk:
    """The records of one batch's body (uncompressed, magic 2), in order.

    Yields (offset, key, version, start, end, problem): key and version are the apiKey and version of a metadata record,
    or the type and version of a control record; start:end are the bytes of its message in `body`. problem is "" or a
    code of `kcli.snapshots.walk.PROBLEMS`; a record that can't be cut ends the walk ("record").
    With `partitions`, PartitionRecords that read well go there and are not yielded.
    `mapped`: the body is a file's map; pages behind the walk are given back, so that memory stays flat.
    """

    cdef Py_buffer view
    cdef bint held, control, mapped, over
    cdef const uint8_t* at
    cdef const uint8_t* end
    cdef const uint8_t* mark
    cdef int64_t base_offset, left, place
    cdef Partitions partitions

    def __cinit__(self, body, int64_t base_offset, int64_t count, bint control=False, Partitions partitions=None, bint mapped=False):
        PyObject_GetBuffer(body, &self.view, PyBUF_SIMPLE)
        self.held = True
        self.at = self.mark = <const uint8_t*>self.view.buf
        self.end = self.at + self.view.len
        self.base_offset = base_offset
        self.left = count
        self.place = 0
        self.control = control
        self.partitions = partitions
        self.mapped = mapped
        self.over = False

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)

    def __iter__(self):
        return self

    cdef tuple cut(self, int64_t offset, object key, object version, const uint8_t* start, const uint8_t* end, str problem):
        cdef const uint8_t* base = <const uint8_t*>self.view.buf
        return offset, key, version, start - base, end - base, problem

    def __next__(self):
        cdef kc_record record
        cdef kc_partition partition
        cdef const uint8_t* after
        cdef const uint8_t* start
        cdef int64_t offset, frame, key, version
        cdef str problem
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
            elif key == PARTITION_RECORD and self.partitions is not None and version <= 2:
                if kc_read_partition(start, record.value + record.value_size, <int>version, &partition) == 0:
                    self.partitions.add(&record, &partition, <int>version, offset)
                    continue
            return self.cut(offset, key, version, start, record.value + record.value_size, problem)
        if not self.over and self.at != self.end:
            self.over = True
            return self.cut(self.base_offset, None, None, self.at, self.end, "surplus")
        if self.held:
            self.held = False
            PyBuffer_Release(&self.view)
        self.over = True
        raise StopIteration

    cdef tuple control_record(self, const kc_record* record, int64_t offset):
        cdef const uint8_t* key = record.key
        if key == NULL or record.key_size < 4:
            return self.cut(offset, None, None, record.value, record.value + record.value_size, "control-key")
        return self.cut(
            offset, (<int>key[2] << 8) | key[3], (<int>key[0] << 8) | key[1],
            record.value, record.value + record.value_size, "",
        )
