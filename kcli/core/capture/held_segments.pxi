# Held segments of one direction by their bytes: a treap, so that any order of arrival takes O(n log n). Places are
# distances from the first held segment (`anchor`), so that they are ordered although sequence numbers wrap.

from libc.stdint cimport int32_t

cdef extern from *:
    """
    #define kc_ahead(a, b) ((int32_t)((uint32_t)(a) - (uint32_t)(b)))
    """
    int32_t ahead "kc_ahead"(uint32_t a, uint32_t b) noexcept nogil


cdef inline int32_t place_of(Side* side, uint32_t seq) noexcept:
    return ahead(seq, side.anchor)


cdef Held* held_before(Side* side, uint32_t seq) noexcept:
    """Return the last held segment that begins at or before this byte; NULL if there is none."""
    cdef Held* at = side.root
    cdef Held* found = NULL
    while at != NULL:
        if place_of(side, at.seq) <= place_of(side, seq):
            found = at
            at = at.right
        else:
            at = at.left
    return found


cdef void put_held(Side* side, Held* held) noexcept:
    """Insert a segment after all that begin at the same byte; `held.rank` decides its depth in the treap."""
    cdef Held** at = &side.root
    cdef Held** left = &held.left
    cdef Held** right = &held.right
    cdef Held* node
    cdef int32_t place
    if side.root == NULL:
        side.anchor = held.seq
    place = place_of(side, held.seq)
    while at[0] != NULL and at[0].rank <= held.rank:
        at = &at[0].right if place_of(side, at[0].seq) <= place else &at[0].left
    node = at[0]
    at[0] = held
    while node != NULL:
        if place_of(side, node.seq) <= place:
            left[0] = node
            left = &node.right
            node = node.right
        else:
            right[0] = node
            right = &node.left
            node = node.left
    left[0] = right[0] = NULL
    if side.held == NULL or place < place_of(side, side.held.seq):
        side.held = held
    side.held_bytes += sizeof(Held) + held.captured


cdef Held* take_held(Side* side) noexcept:
    """Remove the first segment from the tree and return it; the caller frees it."""
    cdef Held** at = &side.root
    cdef Held* above = NULL
    cdef Held* taken
    if side.root == NULL:
        return NULL
    while at[0].left != NULL:
        above = at[0]
        at = &at[0].left
    taken = at[0]
    at[0] = taken.right
    side.held = above if taken.right == NULL else taken.right
    while side.held != NULL and side.held.left != NULL:
        side.held = side.held.left
    side.held_bytes -= sizeof(Held) + taken.captured
    return taken


cdef void free_held(Side* side) noexcept:
    cdef Held* at = side.root
    cdef Held* other
    while at != NULL:
        other = at.left
        if other != NULL:          # rotate it, so that the top is a node without a left child
            at.left = other.right
            other.right = at
        else:
            other = at.right
            free(at)
        at = other
    side.root = side.held = NULL
    side.held_bytes = 0


cdef int list_held(Held* at, list into) except -1:
    """Append (ts, seq, ack, length, flags, data) of each held segment, in order."""
    while at != NULL:
        list_held(at.left, into)
        into.append((at.ts, at.seq, at.ack, at.length, at.flags, (<const char*>(at + 1))[: at.captured]))
        at = at.right
    return 0
