# Writes packets into a draft; their payload is blank until frames give its redacted form.

from kcli.core.codec.rewriting cimport FrameRewriter

cdef enum:
    OPENING = 1
    PUSH = 8

cdef const char* UNNUMBERED = "\x7f\xff\xff\xff"  # see kcli.redact.messages


cdef class Places:
    """A connection in a draft, with the places of its two ends' bytes.

    number: its own; track: a kcli.redact.track.Track of bytes that went the slower way; login: a
    kcli.redact.logins.Login, if there was one.
    """

    cdef readonly Draft draft
    cdef readonly uint32_t number
    cdef public object track
    cdef public object login
    cdef Flow* flow
    cdef Extents[2] extents
    cdef int64_t[2] near         # the latest place, which tells how often sequence numbers have wrapped
    cdef int64_t[2] shift        # a byte's place minus its offset in the stream
    cdef DraftHead[2] latest     # the latest packet of each end
    cdef int64_t[2] stands       # ... and its place

    def __dealloc__(self):
        extents_free(&self.extents[0])
        extents_free(&self.extents[1])

    def forget(self):
        """Free the extents, which are only needed while bytes come."""
        extents_free(&self.extents[0])
        extents_free(&self.extents[1])

    def entries(self):
        """Return the number of packets whose places are known."""
        return self.extents[0].count + self.extents[1].count

    cdef int64_t place(self, int d, uint32_t seq) noexcept:
        return self.near[d] + <int32_t>(seq - <uint32_t>self.near[d])

    def write(self, int d, int64_t offset, bytes data not None):
        """Write redacted bytes of end `d`. offset: of the first, in the end's stream."""
        self.fill(d, offset, <const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))

    cdef int fill(self, int d, int64_t offset, const uint8_t* data, size_t n) except -1:
        return extents_fill(self.draft, &self.extents[d], offset + self.shift[d], data, n)

    def sample(self, int d):
        """Return (link type, bytes up to the payload, (offset of IP, of TCP)) of the latest packet of end `d`, or of
        the other end.
        """
        if not self.stands[d]:
            d = 1 - d
        head = &self.latest[d]
        return head.link, self.draft.read(self.stands[d], min(head.payload, head.captured)), (head.ip, head.tcp)

    def first(self, int d):
        """Return the sequence number of the first byte from end `d`; 0 without a connection."""
        return self.flow.side[d].first if self.flow != NULL else 0

    def closed(self, int d):
        """Return whether the end of the stream from end `d` was reached."""
        return self.flow != NULL and self.flow.side[d].closed

    def retransmitted(self, int d):
        """Return the number of segments from end `d` that were retransmitted."""
        return self.flow.side[d].retransmitted if self.flow != NULL else 0


cdef class CountingSink(Sink):
    """A sink that counts exchanges and does not keep them."""

    cdef bint take(self, Exchange* e) except -1:
        return True


@cython.final
cdef class DraftHandler(StreamHandler):
    """A layer between Reassembly and Correlator. It writes packets into a draft, and the redacted frames that the
    Correlator reads.

    The owner has `rewriter(key, version, is_response)`, which returns a FrameRewriter or None; `redacted(frame,
    request)`, which returns a redacted frame (for a response, `request` is its request); and `connection_over(places,
    ns, ignored)`. current: the connection whose bytes are read. number: the connections so far.
    """

    cdef Correlator next
    cdef object owner
    cdef Draft draft
    cdef object names
    cdef bint keep
    cdef readonly uint32_t number
    cdef readonly Places current
    cdef Places owner_of_packet
    cdef const Packet* here
    cdef dict known                    # Places by the address of the flow
    cdef dict rewriters
    cdef Flow* latest_flow
    cdef Places latest_places
    cdef Out frame_room
    cdef uint64_t offset               # of the next frame, in its stream

    def __cinit__(self, Correlator next not None, owner, Draft draft not None, names, bint keep):
        self.next, self.owner, self.draft, self.names, self.keep = next, owner, draft, names, keep
        self.known, self.rewriters = {}, {}
        self.watches = True
        next.drafting = self

    def __dealloc__(self):
        out_free(&self.frame_room)

    cdef int receive_packet(self, Streams streams, const Packet* packet, Segment* s) except -1:
        """Reassemble a packet's segment, and let the connection's track follow it."""
        cdef bint is_reset = s.flags & KC_RST
        self.here = packet
        streams.receive(s)
        self.here = NULL
        if self.owner_of_packet.track is not None:
            self.owner_of_packet.track.follow(s.ts, s.sender if is_reset else None)
        return 0

    cdef Places places(self, Flow* flow):
        cdef Places found
        if flow == self.latest_flow:
            return self.latest_places
        found = self.known.get(<size_t>flow)
        if found is None:
            self.number += 1
            found = Places.__new__(Places)
            found.draft, found.number, found.flow = self.draft, self.number, flow
            self.known[<size_t>flow] = found
        self.latest_flow, self.latest_places = flow, found
        return found

    cdef int belongs(self, Flow* flow, Segment* s) except -1:
        """Add the packet to the draft before its bytes are read, and note the place of its payload there."""
        cdef Places places = self.places(flow)
        cdef DraftHead* head = &places.latest[s.sender]
        cdef int64_t place
        self.owner_of_packet = places
        head.flow, head.kind = places.number, OPENING if opens(flow, s) else 0
        place = put_blank(self.draft, self.names, self.keep, self.here, s, head)
        places.stands[s.sender] = place
        if s.captured and not flow.done:
            extents_add(
                self.draft, &places.extents[s.sender], places.place(s.sender, s.seq), s.captured, place + head.payload
            )
        return 0

    cdef int goes_on(self, Flow* flow, int d) except -1:
        """Note the place of the next bytes passed on, which follow the bytes before."""
        cdef Places places = self.places(flow)
        places.near[d] = places.place(d, flow.side[d].next)
        places.shift[d] = places.near[d] - <int64_t>flow.side[d].offset
        return 0

    cdef int settle(self, Flow* flow, Places places, int d) except -1:
        """Release the extents of bytes that have been read."""
        cdef ConnectionState* state = <ConnectionState*>flow.state
        cdef int64_t read = flow.side[d].offset
        if not state.sealed:
            if state.steady:
                read -= state.half[d].size
            elif places.track is not None:
                read = places.track.read_to(d, read)
        places.extents[d].settled = read + places.shift[d]
        return 0

    # Calls to the correlator: the current connection is the one whose reader may be made

    cdef int receive(self, Flow* flow, int d, uint64_t ts, const uint8_t* data, size_t n) except -1:
        self.current = self.places(flow)
        self.next.receive(flow, d, ts, data, n)
        self.held = self.next.held
        return self.settle(flow, self.current, d)

    cdef int lost(self, Flow* flow, int d, uint64_t ts, uint64_t n, Loss why) except -1:
        self.current = self.places(flow)
        self.next.lost(flow, d, ts, n, why)
        self.held = self.next.held
        return 0

    cdef int give_up(self, Flow* flow) except -1:
        self.current = self.places(flow)
        self.next.give_up(flow)
        self.held = self.next.held
        return 0

    cdef int ended(self, Flow* flow, uint64_t ts, Ending why) except -1:
        cdef Places places = self.places(flow)
        cdef ConnectionState* state = <ConnectionState*>flow.state
        cdef bint ignored = state != NULL and state.ignored
        self.current = places
        self.next.ended(flow, ts, why)
        self.held = self.next.held
        if ignored or places.track is not None:
            self.owner.connection_over(places, ts, ignored)
        places.forget()
        return 0

    cdef int forget(self, Flow* flow) except -1:
        cdef Places places = self.known.pop(<size_t>flow, None)
        if places is not None:
            places.flow = NULL
        if flow == self.latest_flow:
            self.latest_flow, self.latest_places = NULL, None
        self.next.forget(flow)
        self.held = self.next.held
        return 0

    cdef size_t weight(self, Flow* flow) noexcept:
        return self.next.weight(flow)

    cdef bint is_steady(self, Flow* flow) noexcept:
        return self.next.is_steady(flow)

    # Frames

    cdef int begin(self, Flow* flow, ConnectionState* state, int d, uint64_t ts, size_t n) except -1:
        """Note the offset from which the correlator is about to read frames: `n` bytes and those of a partial frame
        before the end.
        """
        cdef uint64_t end = state.unsealed[d] if state.sealed else flow.side[d].offset
        if state.sealed:
            self.current.track.came(d, ts, end, n)
        self.offset = end - n - state.half[d].size
        return 0

    cdef bint frame(
        self, Flow* flow, ConnectionState* state, int d, uint64_t ts, const uint8_t* frame, size_t n,
        PartialFrame* owner
    ) except -1:
        """Pass a frame to the correlator, and write its redacted form. False: as `Correlator.frame`."""
        cdef Out* room = &self.frame_room
        cdef Places places = self.current
        cdef Request* before = state.last
        cdef bytes request = None, original = None
        cdef bint redacted, unnumbered = state.first != NULL and state.first.unnumbered
        room.size = 0
        if out_reserve(room, PREFIX + n):
            raise MemoryError
        memcpy(room.data, frame - PREFIX, PREFIX + n)
        if d == state.client:
            redacted = n >= 8 and self.redact(be16(frame), be16(frame + 2), False, frame, n)
        else:
            redacted = state.first != NULL and self.redact(state.first.key, state.first.version, True, frame, n)
            if not redacted and state.first != NULL:
                request = state.first.frame[: state.first.size]
        if not redacted:
            original = frame[:n]
        if not self.next.frame(flow, state, d, ts, frame, n, owner):
            return False
        if not redacted:
            made = <bytes>self.owner.redacted(original, request)
            if PyBytes_GET_SIZE(made) != <Py_ssize_t>n:
                raise ValueError(f"{PyBytes_GET_SIZE(made)} bytes in place of {n}")
            memcpy(room.data + PREFIX, PyBytes_AS_STRING(made), n)
        if d != state.client:
            if unnumbered:
                memcpy(room.data + PREFIX, UNNUMBERED, 4)
        elif state.last != NULL and state.last != before:
            state.last.unnumbered = memcmp(room.data + PREFIX + 4, state.last.frame + 4, 4) != 0
        if state.sealed:
            places.track.write(d, self.offset, room.data[: PREFIX + n])
        else:
            places.fill(d, self.offset, <const uint8_t*>room.data, PREFIX + n)
        self.offset += PREFIX + n
        return True

    cdef bint redact(self, int16_t key, int16_t version, bint is_response, const uint8_t* frame, size_t n) except -1:
        """Redact a frame in the room for it, which has a copy. Return False if only the slower way can."""
        cdef uint64_t number = <uint64_t><uint16_t>key << 17 | <uint64_t><uint16_t>version << 1 | is_response
        cdef FrameRewriter rewriter
        found = self.rewriters.get(number, self)
        if found is self:
            found = self.rewriters[number] = self.owner.rewriter(key, version, is_response)
        rewriter = found
        return rewriter is not None and rewriter.apply(frame, n, <uint8_t*>self.frame_room.data + PREFIX)


cdef bint opens(Flow* flow, Segment* s) noexcept:
    """Return whether a packet belongs to TCP's handshake: a SYN, or the ACK of the other end's SYN without payload."""
    cdef Side* side = &flow.side[s.sender]
    cdef Side* other = &flow.side[1 - s.sender]
    if s.flags & KC_SYN:
        return True
    if not (side.syn and other.syn and s.seq == side.first and s.ack == other.first):
        return False
    return not s.length and (s.flags & ~PUSH) == KC_ACK
