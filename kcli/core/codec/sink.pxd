from libc.stdint cimport uint8_t, uint64_t


cdef class Sink:
    # One exchange of a connection that goes on steadily, without any Python object. link: "server-client"; times in ns;
    # frames without their length; answered 0 and response NULL without a response. False: not taken, and nothing changed.
    cdef bint take(self, const char* link, size_t link_size, int key, int version, uint64_t ts, const uint8_t* request, size_t n,
                   uint64_t answered, const uint8_t* response, size_t m) except -1
