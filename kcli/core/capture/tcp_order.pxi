# Tells segments that were overtaken from those that were sent again.


cdef void note_order(Sender* own, const Segment* s) noexcept:
    """Note whether the identification of a packet with new data is above that of the one before."""
    if not s.id:
        return
    if own.sent_id:
        if <int16_t>(s.id - own.sent_id) > 0:
            own.id_rises += 1
        else:
            own.id_falls += 1
    own.sent_id = s.id


cdef bint counts_packets(const Sender* own) noexcept:
    """Return whether identifications rise with each packet, as those of Linux and Windows do, and tell their order."""
    return own.id_rises >= RISES and own.id_falls * FALLS_IN <= own.id_rises


cdef bint is_late(const Sender* own, const Sender* other, const Segment* s, uint16_t later, uint64_t wait) noexcept:
    """Return whether a segment that fills a hole was sent before the packet behind the hole, and overtaken: it was not
    retransmitted. later: that packet's identification. wait: how long the hole was open. A sender can fill a hole only
    after the receiver's acknowledgement has come to it.
    """
    cdef int64_t trip = 0
    if s.id and later and counts_packets(own):
        return <int16_t>(s.id - later) < 0
    if own.sampled >= TRIPS and other.sampled >= TRIPS:
        trip = own.least_ns + other.least_ns
    return wait < <uint64_t>max(trip, <int64_t>REORDER_NS)


cdef void note_repeated(Sender* own, const Sender* other, const Segment* s, uint32_t end) noexcept:
    """Note a segment before the stream's end: it fills a hole, or was retransmitted, or comes after its repetition."""
    cdef int i
    cdef uint64_t wait
    cdef bint late
    for i in range(own.gap_count):
        if ahead(s.seq, own.gaps[i].end) >= 0 or ahead(end, own.gaps[i].start) <= 0:
            continue
        wait = s.ts - own.gaps[i].ts if s.ts > own.gaps[i].ts else 0
        late = is_late(own, other, s, own.gaps[i].id, wait)
        if ahead(s.seq, own.gaps[i].start) <= 0 and ahead(end, own.gaps[i].end) >= 0:
            own.gap_count -= 1
            own.gaps[i] = own.gaps[own.gap_count]
        elif ahead(s.seq, own.gaps[i].start) <= 0:
            own.gaps[i].start = end
        else:
            own.gaps[i].end = s.seq
        if late:
            own.out_of_order += 1
        else:
            count_resent(own, wait)
        return
    if s.id and counts_packets(own) and <int16_t>(s.id - own.sent_id) < 0:
        own.out_of_order += 1
        return
    count_resent(own, s.ts - own.data_ts if own.data_ts and s.ts > own.data_ts else 0)
    own.data_ts = s.ts


cdef void count_resent(Sender* own, uint64_t wait) noexcept:
    own.resent += 1
    own.unacked_resent += 1
    own.resent_wait_ns = max(own.resent_wait_ns, wait)
    own.waiting = 0                # the acknowledgement may be for either transmission (Karn)


cdef void note_hole(Sender* own, const Segment* s) noexcept:
    cdef int at = own.gap_count if own.gap_count < HOLES else HOLES - 1
    own.holes += 1
    own.gaps[at].start, own.gaps[at].end, own.gaps[at].ts, own.gaps[at].id = own.next, s.seq, s.ts, s.id
    own.gap_count = at + 1
