# Topic names.


cdef class Names:
    """Topic ids and their names, learned while JSON is made; and ids without a name."""

    def __dealloc__(self):
        names_free(&self.table)

    def __len__(self):
        return self.table.used

    def learn(self, bytes uuid, str name):
        cdef Out out = Out(NULL, 0, 0)
        cdef bytes text = name.encode()
        if len(uuid) != 16:
            raise ValueError("a uuid has 16 bytes")
        if out_string(&out, <const uint8_t*><char*>text, len(text)) == 0:
            name_learn(&self.table, <const uint8_t*><char*>uuid, out.data, out.size)
        out_free(&out)

    def take_in(self, const uint8_t[::1] log not None):
        """Learn the names in another table's log. Raises ValueError for an invalid log."""
        cdef size_t at = 0, n = log.shape[0]
        cdef uint32_t size
        cdef bint logging = self.table.logging
        self.table.logging = False
        try:
            while at < n:
                if n - at < 20:
                    raise ValueError("a log of names that is cut")
                memcpy(&size, &log[at + 16], 4)
                if n - at - 20 < size:
                    raise ValueError("a log of names that is cut")
                if name_learn(&self.table, &log[at], <const char*>&log[at] + 20, size):
                    raise MemoryError
                at += 20 + size
        finally:
            self.table.logging = logging

    def get(self, bytes uuid):
        """Return the name's JSON text; None if it is unknown."""
        cdef Name* name = name_find(&self.table, <const uint8_t*><char*>uuid) if len(uuid) == 16 else NULL
        if name != NULL:
            return name.text[: name.size].decode()
        if len(uuid) == 16 and name_miss(&self.table, <const uint8_t*><char*>uuid):
            raise MemoryError
        return None

    def missing(self):
        """Return the ids that were looked up before they had a name."""
        cdef NameTable* table = self.table.missing
        if table == NULL:
            return []
        return [(<char*>table.slots[i].id)[:16] for i in range(table.capacity) if table.slots[i].text != NULL]
