# The partitions of a snapshot.

DEF PAIRS = 4096                  # of a broker and a directory, to remember
DEF VERSIONS = 16
DEF FEW = 64                      # replicas that are searched one by one


cdef class Partitions:
    """Sums over the partitions of a snapshot, and the checks of each that need no other record.

    count, size: records and bytes; by_version: {version: [count, bytes]}; facts: {name: count}. topics: {topic id:
    [count, bytes, highest id, sum of ids and of their squares mod 2**64, offset of the first]}. pairs: {(broker,
    directory id or None): offset of its first record}, with `references`. broken: [(offset, topic id, partition,
    code)], at most `most`, code as in BREAKS; broken_count is the number of all. store: {topic id: {partition: frame
    bytes}} if given: the records themselves. quiet: types of metadata records (below 64) that a Walk only counts here
    and does not yield. changes: whether a Walk also only counts PartitionChangeRecords that it can read. tallies:
    {(apiKey, version): [count, bytes, most bytes, offset of that one, offset of the first]} of the counted records.
    """

    cdef readonly int64_t count, size, broken_count
    cdef int64_t[8] tally
    cdef int64_t[3] versions, sizes
    cdef readonly dict topics, pairs, store
    cdef readonly list broken
    cdef readonly int most
    cdef bint references, counts_changes
    cdef uint8_t[16] topic
    cdef int64_t run, run_bytes, run_high, run_first
    cdef uint64_t run_sum, run_squares
    cdef bint open
    cdef dict shelf
    cdef uint64_t quiet
    cdef int64_t[64][VERSIONS][5] rows
    cdef uint8_t[PAIRS][20] seen
    cdef uint8_t[PAIRS] known

    def __cinit__(self, bint references=False, store=None, int most=100, quiet=(), bint changes=False):
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
        self.counts_changes = changes
        self.open = False

    @property
    def facts(self):
        return {name: self.tally[index] for index, name in enumerate(FACTS)}

    @property
    def by_version(self):
        return {
            version: [self.versions[version], self.sizes[version]] for version in range(3) if self.versions[version]
        }

    @property
    def tallies(self):
        return {
            (key, version): [self.rows[key][version][index] for index in range(5)]
            for key in range(64)
            for version in range(VERSIONS)
            if self.rows[key][version][0]
        }

    cdef bint tally_only(self, int64_t key, int64_t version, int64_t size, int64_t offset) noexcept:
        if key >= 64 or version >= VERSIONS or not (self.quiet >> key) & 1:
            return False
        self.tally_row(key, version, size, offset)
        return True

    cdef void tally_row(self, int64_t key, int64_t version, int64_t size, int64_t offset) noexcept:
        cdef int64_t* row = self.rows[key][version]
        if row[0] == 0:
            row[4] = offset
        row[0] += 1
        row[1] += size
        if size > row[2]:
            row[2] = size
            row[3] = offset

    def close(self):
        """Update the figures of the last topic. Call it before reading `topics`."""
        cdef list row
        if not self.open:
            return
        self.open = False
        topic = PyBytes_FromStringAndSize(<char*>self.topic, 16)
        row = self.topics.get(topic)
        if row is None:
            self.topics[topic] = [
                self.run, self.run_bytes, self.run_high, self.run_sum, self.run_squares, self.run_first
            ]
            return
        row[0] += self.run
        row[1] += self.run_bytes
        row[2] = max(row[2], self.run_high)
        row[3] = (row[3] + self.run_sum) & 0xFFFFFFFFFFFFFFFF
        row[4] = (row[4] + self.run_squares) & 0xFFFFFFFFFFFFFFFF

    def forget(self, bytes topic not None):
        """Drop a topic's partitions in `store`, as another record of the topic empties it."""
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
                if <int32_t>kc_be32(partition.in_sync + 4 * index) == broker:
                    return 0
            self.fault(partition, offset, "leader")
        return 0

    cdef int note(self, const uint8_t* broker, const uint8_t* directory, int64_t offset) except -1:
        cdef uint32_t slot = kc_be32(broker) * 2654435761u
        cdef uint8_t[20] pair
        memcpy(pair, broker, 4)
        if directory == NULL:
            memset(pair + 4, 0, 16)
        else:
            memcpy(pair + 4, directory, 16)
            slot ^= kc_be32(directory) ^ kc_be32(directory + 8)
        slot = (slot ^ (slot >> 15)) % PAIRS
        if self.known[slot] and memcmp(self.seen[slot], pair, 20) == 0:
            return 0
        self.known[slot] = 1
        memcpy(self.seen[slot], pair, 20)
        identity = PyBytes_FromStringAndSize(<char*>directory, 16) if directory != NULL else None
        self.pairs.setdefault((<int32_t>kc_be32(broker), identity), offset)
        return 0

    cdef int fault(self, const kc_partition* partition, int64_t offset, str code) except -1:
        self.broken_count += 1
        if len(self.broken) < self.most:
            topic = PyBytes_FromStringAndSize(<char*>partition.topic, 16)
            self.broken.append((offset, topic, partition.id, code))
        return 0


cdef bint among(const uint8_t* broker, const kc_partition* partition, set replicas) except -1:
    """Return whether a broker is a replica. replicas: the set of them, if they are more than FEW."""
    cdef int index
    if replicas is not None:
        return <int32_t>kc_be32(broker) in replicas
    for index in range(partition.replicas):
        if memcmp(broker, partition.replica + 4 * index, 4) == 0:
            return True
    return False
