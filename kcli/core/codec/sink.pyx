"""What takes exchanges straight from the capture engine, before any Python object is made of them."""


cdef class Sink:
    cdef bint take(self, const char* link, size_t link_size, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                   uint64_t answered, const uint8_t* response, size_t m) except -1:
        return False
