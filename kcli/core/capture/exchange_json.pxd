# An exchange's line of JSON, directly from its frames.
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t

from kcli.core.codec.messages cimport JsonContext, Names, Node, Out, Selection
from kcli.core.codec.request_header cimport *
from kcli.core.codec.sink cimport KEYS, VERSIONS, Exchange

cdef extern from "exchange_json.h" nogil:
    ctypedef struct Date "kc_date":
        uint64_t day
    char* put_instant "kc_put_instant"(char* p, Date* date, uint64_t ns) nogil
    char* put_opening "kc_put_opening"(char* p) nogil
    char* put_link "kc_put_link"(char* p, const char* link, size_t n) nogil
    char* put_sizes "kc_put_sizes"(char* p, uint64_t request) nogil
    char* put_answer "kc_put_answer"(char* p, uint64_t response, uint64_t us) nogil
    char* put_no_answer "kc_put_no_answer"(char* p) nogil
    char* put_no_errors "kc_put_no_errors"(char* p) nogil

cdef enum:
    PRODUCE = 0
    CONTROLLED_SHUTDOWN = 7
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18


cdef class ApiCodecs:
    cdef Node request_header, request, response_header, response, oldest
    cdef Selection acks   # of a Produce request
    cdef bint complete    # the core can read all of these messages
    cdef bytes name       # `,"requestApiKeyName":"FETCH"},"request":`

    cdef int64_t acks_of(self, const uint8_t* frame, size_t n) except? -1
    cdef Node answer(self, const uint8_t* body, size_t n)


@cython.final
cdef class ErrorCodes:
    """The distinct error codes of one response."""

    cdef Out codes                            # int64
    cdef uint64_t* stamps                     # by code: the last response that had it
    cdef uint64_t clock

    cdef size_t count(self) noexcept
    cdef int64_t at(self, size_t place) noexcept
    cdef int take(self, const char* text, const char* end) except -1


cdef class ExchangeWriter:
    cdef Out out
    cdef Date date
    cdef JsonContext context
    cdef object bodies, hook
    cdef Names names
    cdef PyObject* by_api[KEYS][VERSIONS]      # results of `codecs`
    cdef readonly list kept
    cdef ErrorCodes errors                    # of the last line
    cdef dict error_names                     # code -> name as JSON

    cdef PyObject* codecs(self, int key, int version) except NULL
    cdef bint put(self, ApiCodecs codecs, Exchange* e) except -1
    cdef bint put_request(self, ApiCodecs codecs, const uint8_t* frame, size_t n) except -1
    cdef bint put_response(self, ApiCodecs codecs, const uint8_t* frame, size_t n) except -1
    cdef int put_errors(self) except -1
    cdef bytes error_name(self, int64_t code)


cdef inline int client_id_size(const uint8_t* request, size_t n, int key, int version) noexcept:
    """Return the bytes of the client id at its fixed offset; -1: null; -2: not ASCII, which needs the slower way."""
    cdef int64_t size, i
    cdef const uint8_t* text = client_id(request, n, &size)
    if not has_client_id(key, version):
        return -1
    for i in range(size):
        if text[i] >= 0x80:
            return -2
    return size


cdef inline PyObject* steady_codecs(ExchangeWriter lines, Exchange* e, int* client) except NULL:
    """Return `lines.codecs` of an exchange; None also if its times or client id need the slower way. client: set to
    `client_id_size`.
    """
    cdef PyObject* found = lines.codecs(e.key, e.version)
    if <object>found is None or (e.response != NULL and e.answered < e.ts):
        return <PyObject*>None
    client[0] = client_id_size(e.request, e.request_size, e.key, e.version)
    return found if client[0] >= -1 else <PyObject*>None
