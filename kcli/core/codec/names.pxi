# Topic names.


cdef class Names:
    """Topic ids and the names they were seen with, learnt while JSON is made; and those that had none."""

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

    def get(self, bytes uuid):
        """The name's JSON text, None when it was never seen."""
        cdef Name* name = name_find(&self.table, <const uint8_t*><char*>uuid) if len(uuid) == 16 else NULL
        if name != NULL:
            return name.text[: name.size].decode()
        if len(uuid) == 16 and name_miss(&self.table, <const uint8_t*><char*>uuid):
            raise MemoryError
        return None

    def missing(self):
        """The ids that were looked up before they had a name."""
        cdef NameTable* table = self.table.missing
        if table == NULL:
            return []
        return [(<char*>table.slots[i].id)[:16] for i in range(table.capacity) if table.slots[i].text != NULL]
