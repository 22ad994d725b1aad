# TCP streams: both directions of each connection as bytes in order, with gaps marked. Three layers pass data on in this
# order: Streams, Reassembly, StreamHandler.
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from kcli.core.capture.line_order cimport LineOrder
from kcli.core.capture.packets cimport Ends, Segment


# A segment that waits for the bytes before it, or for the bytes that it acknowledges. Its payload follows.
cdef struct Held:
    Held* left
    Held* right
    uint64_t ts
    uint32_t seq, ack, captured, length
    uint32_t rank          # random, so that only by chance an order of packets makes the tree deep
    uint8_t flags


# A flag in one byte, so that the data used for each packet are close together.
cdef extern from *:
    """
    typedef unsigned char kc_flag;
    """
    ctypedef bint Flag "kc_flag"


cdef struct Side:
    Flag seen              # a packet was captured
    Flag known             # `next` is known
    Flag syn               # ... from a SYN
    Flag closed            # its FIN has been reached
    Flag answered          # `acked` is set
    uint8_t below          # packets in a row with a lower acknowledgement
    uint32_t first         # sequence number of the first byte
    uint32_t next          # ... of the expected byte
    uint32_t acked         # ... acknowledged by the other end
    uint32_t anchor        # a sequence number near the held segments
    uint64_t offset        # bytes before `next`, delivered or lost
    Held* root             # of the held segments
    Held* held             # the first of them
    size_t held_bytes
    uint64_t retransmitted # segments with bytes that were captured before


cdef struct Flow


# A heap of waiting connections.
cdef struct Timers:
    Flow** flows
    size_t count, room
    bint by_mark           # ordered by `mark`, else by `deadline`


cdef enum:
    PATHS = 4              # paths to remember for each end


cdef struct Flow:
    uint64_t hash
    Ends ends
    Flow* chain            # in its slot of the table
    void* state            # the handler's state
    uint32_t paths[2][PATHS]   # the paths of each end's packets (Segment.path), the latest first; 0: none
    uint64_t last          # when its last packet came
    uint64_t born          # packets of the whole capture up to its first one
    uint64_t syn           # the time of the client's last SYN, until the handshake is over
    int client             # the end that connected; -1: unknown
    Flag waiting, reset, done
    Side side[2]
    int twin               # earlier connections of the same two ends on other paths
    uint32_t packets       # its own packets since it was blocked
    uint64_t since         # when it was blocked, or closed
    uint64_t deadline
    uint64_t mark          # packets of the whole capture before it was blocked
    int64_t round_trip     # from the client's SYN to its ACK of the server's SYN, ns; -1: unknown
    Timers* timers         # the heap that it is in, and its place
    size_t place
    Flow* older
    Flow* newer
    Flow* done_newer       # in the list of closed connections


cdef enum Loss:
    LOSS_GAP               # never captured
    LOSS_GIVEN_UP          # not captured so far, and no longer waited for, as too much is held
    LOSS_CUT               # cut off by the snapshot length
    LOSS_JUMP              # unrelated sequence numbers, so the number of missing bytes is unknown


# The reason why a connection is over.
cdef enum Ending:
    END_OF_CAPTURE
    END_CLOSED
    END_RESET
    END_GIVEN_UP           # too much is held


cdef class StreamHandler:
    # The last layer, which reads the bytes of connections. d: the direction, by its sender; ts: ns.
    cdef uint64_t held     # bytes of memory that it holds
    cdef bint watches      # call `goes_on`

    cdef int belongs(self, Flow* flow, Segment* s) except -1
    cdef int goes_on(self, Flow* flow, int d) except -1
    cdef int receive(self, Flow* flow, int d, uint64_t ts, const uint8_t* data, size_t n) except -1
    cdef int lost(self, Flow* flow, int d, uint64_t ts, uint64_t n, Loss why) except -1
    cdef int ended(self, Flow* flow, uint64_t ts, Ending why) except -1
    cdef int give_up(self, Flow* flow) except -1
    cdef int forget(self, Flow* flow) except -1
    cdef size_t weight(self, Flow* flow) noexcept
    cdef bint is_steady(self, Flow* flow) noexcept
    cdef tuple dump(self, Flow* flow)
    cdef int restore(self, Flow* flow, tuple values) except -1


@cython.final
cdef class Reassembly:
    cdef StreamHandler next
    cdef uint64_t duplicate, stray  # bytes of payload that were captured again; that belong to no open connection
    cdef uint64_t held              # bytes of memory of held segments
    cdef uint32_t chance

    cdef bint receive(self, Flow* flow, Segment* s) except -1
    cdef bint ready(self, Flow* flow, int d, uint32_t seq, uint32_t ack, uint8_t flags) noexcept
    cdef int pass_on(self, Flow* flow, int d, Segment* s) except -1
    cdef bint hold(self, Side* side, Segment* s) except -1
    cdef uint32_t next_rank(self) noexcept
    cdef int drain(self, Flow* flow) except -1
    cdef int begin(self, Flow* flow) except -1
    cdef int resolve(self, Flow* flow, bint force, Loss why) except -1
    cdef bint pass_hole(self, Flow* flow, int d, bint force, Loss why) except -1
    cdef int end(self, Flow* flow, uint64_t ts, Loss why) except -1
    cdef int give_up(self, Flow* flow) except -1
    cdef int forget(self, Flow* flow) except -1
    cdef size_t weight(self, Flow* flow) noexcept
    cdef bint is_steady(self, Flow* flow) noexcept
    cdef tuple dump(self, Flow* flow)
    cdef int restore(self, Flow* flow, tuple sides, tuple values) except -1


@cython.final
cdef class Flows:
    cdef Flow** slots
    cdef size_t slot_count, flow_count
    cdef Flow* first           # all that are not forgotten, the oldest first
    cdef Flow* latest
    cdef Flow* recent
    cdef Flow* done_first      # closed connections, by `done_newer`
    cdef Flow* done_latest
    cdef size_t done_count
    cdef uint64_t held         # bytes of memory counted for open connections

    cdef Flow* find(self, Segment* s) except NULL
    cdef Flow* of_path(self, Flow* found, Segment* s) except NULL
    cdef Flow* add(self, Segment* s, uint64_t hash) except NULL
    cdef int widen(self) except -1
    cdef int unlink(self, Flow* flow) except -1
    cdef int discard(self, Flow* flow) except -1
    cdef void remember(self, Flow* flow) noexcept
    cdef void unremember(self, Flow* flow) noexcept


@cython.final
cdef class Streams:
    cdef Flows flows
    cdef Reassembly reassembly
    cdef Timers timers, overdue  # those whose time is to come; those that await more packets
    cdef uint64_t clock, alarm, sweep, leap
    cdef uint64_t segments, payload
    cdef uint64_t memory         # bytes that connections may hold
    cdef size_t most_done        # closed connections to remember
    cdef LineOrder order         # None: no other process shares the work

    cdef int receive(self, Segment* s) except -1
    cdef int twin_of(self, Segment* s) noexcept
    cdef int pass_over(self, uint64_t ts) except -1
    cdef int close_all(self) except -1
    cdef uint64_t held(self) noexcept
    cdef bint in_step(self) noexcept

    cdef int advance_clock(self, uint64_t ts) except -1
    cdef Flow* open(self, Flow* flow, Segment* s) except NULL
    cdef int infer_start(self, Flow* flow, Side* side, uint32_t seq) except -1
    cdef int await_rest(self, Flow* flow, Side* side) except -1
    cdef int follow_end(self, Flow* flow, uint64_t ts) except -1
    cdef int wait(self, Flow* flow, uint64_t delay) except -1
    cdef void unwait(self, Flow* flow) noexcept
    cdef int count_patience(self, Flow* flow) except -1
    cdef int expire(self) except -1
    cdef int lose_patience(self, Flow* flow, uint64_t waited) except -1
    cdef int close(self, Flow* flow, uint64_t ts) except -1
    cdef int end(self, Flow* flow, uint64_t ts, Loss why) except -1
    cdef int sweep_idle(self) except -1
    cdef int forget_done(self) except -1


cdef list dump_flows(Streams streams)
cdef int restore_flows(Streams streams, list dumped, uint64_t clock) except -1
