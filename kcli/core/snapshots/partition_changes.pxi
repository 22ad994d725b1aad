# The partitions of an image while a log is replayed.


cdef class PartitionChanges:
    """Applies PartitionRecords and PartitionChangeRecords of a log to the topics of an image.

    topics: {topic id: an object whose `partitions` is {partition: framed bytes of its PartitionRecord}}. They are up to
    date after `settle`. The Walk yields records that are not applied here (unknown topics and partitions, records that
    a state can't hold); before the caller applies one, it calls `settle`, or `forget` for a topic that begins anew or
    ends. watched: {name of a topic: partitions whose changes are not applied}. left: topics whose changes are not
    applied. paused: no changes are applied. counts: the StateCounts of the changes; PartitionRecords are not applied
    then.
    """

    cdef public StateCounts counts
    cdef dict topics, watched, opened
    cdef set left
    cdef TopicStates last
    cdef public bint paused
    cdef int64_t count, matched

    def __cinit__(self, dict topics not None, dict watched=None):
        self.topics = topics
        self.watched = watched or {}
        self.opened = {}
        self.left = set()
        self.last = None
        self.paused = False
        self.count = self.matched = 0

    cdef bint turn_to(self, const uint8_t* topic) except -1:
        """Make `last` the states of a topic. Return False if there is no such topic."""
        if self.last is not None and memcmp(self.last.topic, topic, 16) == 0:
            return True
        identity = PyBytes_FromStringAndSize(<char*>topic, 16)
        found = self.opened.get(identity)
        if found is None:
            owner = self.topics.get(identity)
            if owner is None or identity in self.left:
                return False
            found = self.opened[identity] = TopicStates(identity, owner.partitions, self.watched.get(owner.name))
        self.last = <TopicStates>found
        return True

    cdef bint put(self, const kc_record* record, const kc_partition* partition) except -1:
        if self.paused or self.counts is not None:
            return False
        if kc_is_odd_partition(partition) or not self.turn_to(partition.topic):
            return False
        if not self.last.put(partition.id, record):
            return False
        self.count += 1
        return True

    cdef bint apply(self, const kc_change* change, int64_t size) except -1:
        if self.paused or not self.turn_to(change.topic) or not self.last.apply(change, self.counts):
            return False
        if self.counts is not None:
            self.counts.records += 1
            self.counts.size += size
        self.count += 1
        return True

    cdef bint match(self, const kc_partition* partition) except -1:
        if self.paused or not self.turn_to(partition.topic) or not self.last.match(partition):
            return False
        self.matched += 1
        return True

    def end_matching(self):
        """Return the number of partitions that were compared with a record and equal it, and count anew."""
        cdef TopicStates states
        cdef int64_t matched = self.matched
        for states in self.opened.values():
            states.forget_seen()
        self.matched = 0
        return matched

    def leave(self, bytes topic not None):
        """Bring a topic in the image up to date, and apply no further changes to it. Returns the result of `settle`."""
        count = self.settle(topic)
        self.forget(topic)
        self.left.add(topic)
        return count

    def forget(self, bytes topic not None):
        """Drop the changes of a topic."""
        self.last = None
        self.opened.pop(topic, None)

    def settle(self, bytes topic=None):
        """Bring the image up to date, or one topic of it. Returns the number of records applied since the last call."""
        cdef TopicStates states
        cdef int64_t count = self.count
        for states in self.opened.values() if topic is None else filter(None, [self.opened.get(topic)]):
            states.settle()
        if topic is None:
            self.opened = {}
            self.last = None
        self.count = 0
        return count


def same_partition(mine not None, yours not None):
    """Return whether two framed PartitionRecords, of any versions, are equal; None if the kernel refuses."""
    cdef kc_partition one, two
    if not read_framed(mine, &one) or not read_framed(yours, &two):
        return None
    return kc_same_partition(&one, &two) != 0

