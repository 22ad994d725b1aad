# The fields at fixed offsets in the header of every request.
from libc.stdint cimport int32_t, int64_t, uint8_t

cdef extern from "request_header.h" nogil:
    enum: KC_NO_CLIENT_ID, KC_CUT_HEADER
    const uint8_t* client_id "kc_client_id"(const uint8_t* frame, size_t size, int64_t* length)
    bint has_client_id "kc_has_client_id"(int api_key, int version)
    int32_t correlation_id "kc_correlation_id"(const uint8_t* frame)
