# Numbers for profiles: what the client and broker of a connection tell about themselves in ApiVersions.

cdef enum:
    HEARD = 1 << 12        # exchanges of ApiVersions
    HEARD_LAST = 64        # ... of which each is compared with one, at first


cdef class Voices:
    """The voice after an exchange of ApiVersions: a number for the client's and broker's profile so far.

    owner: its heard(link, voice, *exchange) returns the number for new contents.
    """

    cdef Texts words              # by the voice before them
    cdef Out scratch
    cdef uint32_t[HEARD_LAST] last
    cdef list after               # the voice to which each of `words` leads
    cdef object owner

    def __init__(self, owner):
        self.owner, self.after = owner, []

    def __dealloc__(self):
        texts_free(&self.words)
        out_free(&self.scratch)

    cdef int64_t next(self, int64_t voice, Exchange* e) except? -1:
        """Return the voice after this exchange; usually the same contents followed the same voice before."""
        cdef uint32_t* last = &self.last[(e.request_size * 7 + e.response_size + <uint64_t>voice) % HEARD_LAST]
        cdef uint32_t number
        cdef size_t n = e.request_size - 8, m = e.response_size - 4 if e.response != NULL else 0
        if last[0] and is_heard(&self.words.texts[last[0] - 1], voice, e.request + 8, n, e.response + 4, m):
            return self.after[last[0] - 1]
        self.scratch.size = 0
        if out_put(&self.scratch, e.request + 8, n) or out_put(&self.scratch, e.response + 4, m):
            raise MemoryError
        number = text_number(&self.words, <const uint8_t*>self.scratch.data, self.scratch.size, <int>voice)
        if number == 0:
            raise MemoryError
        if number > <uint32_t>len(self.after):
            self.after.append(self.owner.heard(link_of(e), voice, *values_of(e)))
        last[0] = number
        return self.after[number - 1]

    cdef int trim(self) except -1:
        """Forget all words if there are many."""
        if self.words.count > HEARD:
            texts_free(&self.words)
            memset(self.last, 0, sizeof(self.last))
            self.after = []
        return 0
