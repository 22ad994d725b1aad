# Shared by the kernels over record batches: frames, records and wrapped message sets, from batches.h and record_json.h.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from kcli.core.codec.messages cimport Out


cdef extern from "batches.h" nogil:
    enum: KB_OK, KB_END, KB_PARTIAL, KB_LENGTH, KB_SHORT, KB_MAGIC
    enum: KB_CODEC, KB_APPEND_TIME, KB_TRANSACTIONAL, KB_CONTROL, KB_HORIZON
    enum: KR_OK
    enum: KR_KEY, KR_VALUE, KR_LEGACY_NULL, KR_LEGACY_CODEC

    ctypedef struct Batch "kb_batch":
        const uint8_t* start
        int64_t size
        int magic, attributes
        int64_t base_offset, last_offset
        int32_t leader_epoch
        uint32_t crc
        int64_t base_timestamp, max_timestamp, producer_id
        int producer_epoch
        int32_t base_sequence, count
        const uint8_t* key
        int32_t key_size, value_size
        const uint8_t* payload
        size_t payload_size
        int broken

    ctypedef struct Record "kb_record":
        int attributes, odd
        int64_t timestamp_delta
        int32_t offset_delta
        const uint8_t* key
        const uint8_t* value
        int64_t key_size, value_size
        const uint8_t* headers
        int32_t header_count
        const uint8_t* end
        const uint8_t* wrong
        int64_t says, here

    int read_batch "kb_read_batch"(Batch* batch, const uint8_t* at, const uint8_t* end)
    ctypedef struct Problem "kb_problem":
        int code
        int64_t record, at, says, here

    ctypedef struct Walk "kb_walk":
        int64_t read

    void open_records "kb_open_records"(Walk* walk, Record* record, const uint8_t* data, size_t size, int64_t says)
    bint next_record "kb_next_record"(Walk* walk, Record* record, Problem* problem)
    const uint8_t* read_varlong "kb_varlong"(
        const uint8_t* p, const uint8_t* end, int most, int64_t* value, int* odd, int* code
    )
    uint32_t batch_checksum "kb_checksum"(const Batch* batch)
    bint batch_plausible "kb_plausible"(const Batch* batch)
    bint batch_sound "kb_sound"(const uint8_t* at, const uint8_t* end)
    ptrdiff_t find_batch "kb_find"(const uint8_t* at, const uint8_t* end)
    int64_t add64 "kb_plus"(int64_t a, int64_t b)
    int64_t sub64 "kb_minus"(int64_t a, int64_t b)
    void put32 "kc_set32"(uint8_t* p, uint32_t v)
    void put64 "kc_set64"(uint8_t* p, uint64_t v)


cdef extern from "record_json.h" nogil:
    ctypedef int (*Extra "kj_extra")(void* self, Out* out, const uint8_t* key, int64_t key_size,
                                     const uint8_t* value, int64_t value_size) noexcept

    ctypedef struct MessageSet "kb_set":
        const uint8_t* at
        const uint8_t* end
        int64_t base

    int next_inner "kb_next_inner"(MessageSet* messages, Batch* message)
    int open_set "kb_open_set"(Batch* wrapper, const uint8_t* data, size_t size, MessageSet* messages, Problem* problem)
    ctypedef struct Guard "kj_guard":
        uint8_t[256] types
        int (*judge)(void* self, const uint8_t* value, int64_t size) noexcept nogil
        void* self
        bint all
        int64_t hidden

    int put_header "kj_header"(Out* out, const Batch* batch, int64_t position, bint valid, bint opened)
    ctypedef struct Line "kj_line":
        const uint8_t* before
        const uint8_t* behind
        size_t before_size, behind_size
        bint numbered, timed
        int64_t next, timestamp

    int put_records "kj_records_2"(
        Out* out, const Batch* batch, const uint8_t* data, size_t size, int* odd, Problem* problem, Extra extra,
        void* self, Guard* guard, Line* line
    )
    int put_message "kj_message"(
        Out* out, const Batch* message, int64_t offset, int64_t timestamp, Extra extra, void* self, Guard* guard
    )
    int put_messages "kj_messages"(
        Out* out, const Batch* wrapper, MessageSet messages, Extra extra, void* self, Guard* guard
    )
    int put_payload "kj_payload"(Out* out, const char* name, const uint8_t* data, size_t size, bint hidden)
    int64_t record_timestamp "kb_timestamp"(const Batch* batch, int64_t delta)
    void text_setup "kt_setup"()


cdef extern from "crc.h" nogil:
    void crc_setup "kc_crc_setup"(int most)
    uint32_t crc32 "kc_crc32"(uint32_t crc, const uint8_t* data, size_t size)
    uint32_t crc32c "kc_crc32c"(uint32_t crc, const uint8_t* data, size_t size)


cdef inline tuple figures(Problem* problem):
    """Return None, or why a reader stopped: (a code of REASONS, record, position, says, here)."""
    return (problem.code, problem.record, problem.at, problem.says, problem.here) if problem.code else None
