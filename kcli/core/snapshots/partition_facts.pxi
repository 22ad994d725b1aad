# Facts about a partition, from its PartitionRecord.

# The facts about a partition in `partition_facts` and `Partitions.store`, one bit each.
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
    elif partition.replicas and <int32_t>kc_be32(partition.replica) != partition.leader:
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


cdef bint read_framed(framed, kc_partition* partition) noexcept:
    """Read the framed bytes of a PartitionRecord's value. Return False for another record, an unknown layout, or
    damage.
    """
    cdef const uint8_t* data
    cdef Py_ssize_t size
    if not isinstance(framed, bytes):
        return False
    data = <const uint8_t*>PyBytes_AS_STRING(framed)
    size = len(<bytes>framed)
    if size < 4 or data[0] != 1 or data[1] != PARTITION_RECORD or data[2] > LATEST:
        return False
    return kc_read_partition(data + 3, data + size, data[2], partition) == 0


cdef tuple ints(const uint8_t* items, int32_t count):
    cdef int index
    return tuple([<int32_t>kc_be32(items + 4 * index) for index in range(count)])


def partition_facts(framed not None):
    """Judge a PartitionRecord's framed value; return (facts, leader, replicas, isr), facts as bits of FACTS.

    Return None if the kernel refuses: another record, an unknown layout, damage.
    """
    cdef Py_buffer view
    cdef kc_partition partition
    cdef const uint8_t* data
    PyObject_GetBuffer(framed, &view, PyBUF_SIMPLE)
    try:
        data = <const uint8_t*>view.buf
        if view.len < 4 or data[0] != 1 or data[1] != PARTITION_RECORD or data[2] > LATEST:
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
    """Add to totals[i] the number of partitions for which bit i of FACTS holds; return the values that the kernel
    refuses, as a list.
    """
    cdef kc_partition partition
    cdef int facts, bit
    cdef int64_t[6] sums
    cdef list others = []
    memset(sums, 0, sizeof(sums))
    for framed in partitions.values():
        if not read_framed(framed, &partition):
            others.append(framed)
        else:
            facts = judge(&partition)
            for bit in range(6):
                sums[bit] += (facts >> bit) & 1
    for bit in range(6):
        totals[bit] += sums[bit]
    return others
