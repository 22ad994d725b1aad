from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef enum:
    KEYS = 128
    VERSIONS = 32


# One exchange of a steady connection. Times in ns; frames without length prefix.
cdef struct Exchange:
    const char* link          # "server-client"
    size_t link_size
    int key, version
    uint64_t ts
    const uint8_t* request
    size_t request_size
    uint64_t answered         # 0 without a response
    const uint8_t* response   # NULL without one
    size_t response_size
    uint64_t began            # when the request's first bytes came
    uint64_t answering        # when the response's first bytes came; 0 without one
    int64_t pause             # from the previous response to `began`; -1: others were in flight, or none came before
    int64_t in_flight         # unanswered requests when this one was complete; -1: unknown


cdef inline bytes link_of(Exchange* e):
    return e.link[: e.link_size]


cdef inline tuple values_of(Exchange* e):
    """Return an exchange for Python: (key, version, ts, request, answered, response, timing)."""
    return (
        e.key, e.version, e.ts, (<const char*>e.request)[: e.request_size], e.answered if e.response != NULL else None,
        (<const char*>e.response)[: e.response_size] if e.response != NULL else None,
        (e.began, e.answering if e.response != NULL else None, e.pause, e.in_flight),
    )


cdef class Sink:
    cdef bint take(self, Exchange* e) except -1


cdef class Layouts:
    cdef object find
    cdef PyObject* found[KEYS][VERSIONS]
    cdef list kept

    cdef PyObject* of(self, int key, int version) except NULL
