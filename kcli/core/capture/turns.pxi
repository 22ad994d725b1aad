# Lines made by several processes in turn: each reads all, and writes the lines of its own turns.

cdef class Turns:
    """Whose turn it is. A turn ends behind so many bytes of messages; all processes count alike.

    owner: has `turned(number)`, called when a turn is over, and `teaches(key, version)`: whether messages of that version
    have topics' names beside their ids, which all processes have to read.
    """

    cdef object owner
    cdef int own, count, now
    cdef uint64_t size, left
    cdef uint8_t[KEYS][VERSIONS] known      # 0: not asked yet, 1: teaches nothing, 2: does

    def __init__(self, owner, int own, int count, uint64_t size):
        self.owner, self.own, self.count, self.size, self.left = owner, own, count, size, size

    cdef int change(self) except -1:
        """The next process is on."""
        self.owner.turned(self.now)
        self.now, self.left = (self.now + 1) % self.count, self.size
        return 0

    cdef bint teaches(self, int key, int version) except -1:
        if key >= KEYS or version >= VERSIONS:
            return True
        if not self.known[key][version]:
            self.known[key][version] = 1 + <int>bool(self.owner.teaches(key, version))
        return self.known[key][version] == 2


cdef inline bint is_on(Turns turns) noexcept:
    """Whether it is this process's turn; where none are taken, it always is."""
    return turns is None or turns.now == turns.own


cdef inline int advance(Turns turns, uint64_t size) except -1:
    """Before an exchange of so many bytes: the next process may be on."""
    if turns is None:
        return 0
    if size > turns.left:
        return turns.change()
    turns.left -= size
    return 0
