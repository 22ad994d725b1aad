# What other modules of the core may cimport: the growing buffer, and the operations on messages.
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "json_text.h" nogil:
    enum: KC_OK, KC_MEMORY, KC_UTF8

    ctypedef struct Out "kc_out":
        char* data
        size_t size
        size_t capacity

    int out_reserve "kc_reserve"(Out* out, size_t extra)
    int out_put "kc_append"(Out* out, const void* data, size_t size)
    void out_free "kc_free"(Out* out)
    bint out_is_lent "kc_is_lent"(const Out* out)
    void out_lend "kc_lend"(Out* out, char* data, size_t size)
    int out_string "kc_string"(Out* out, const uint8_t* text, size_t size)
    int out_base64 "kc_base64_string"(Out* out, const uint8_t* data, size_t size)
    char* put_int "kc_i64"(char* at, int64_t value)
    char* put_uint "kc_u64"(char* at, uint64_t value)
    int uuid_parse "kc_uuid_parse"(uint8_t* uuid, const uint8_t* text)
    char* put_uuid "kc_uuid"(char* at, const uint8_t* uuid)
    char* put_base64 "kc_base64"(char* at, const uint8_t* data, size_t size)
    size_t base64_size "kc_base64_size"(size_t size)
    size_t utf8_char "kc_utf8_char"(const uint8_t* text, size_t left)
    bint is_utf8 "kc_is_utf8"(const uint8_t* text, size_t size)


cdef extern from "name_table.h" nogil:
    ctypedef struct Name "kc_name":
        uint8_t* id
        char* text
        size_t size

    ctypedef struct NameTable "kc_names":
        Name* slots
        NameTable* missing
        size_t used, capacity, missed
        bint logging
        char* log
        size_t log_size

    Name* name_find "kc_name_find"(NameTable* names, const uint8_t* id)
    int name_learn "kc_name_learn"(NameTable* names, const uint8_t* id, const char* text, size_t size)
    int name_miss "kc_name_miss"(NameTable* names, const uint8_t* id)
    void names_free "kc_names_free"(NameTable* names)


cdef enum RecordsForm:
    RECORDS_SIZE = 0      # {"sizeInBytes": n}
    RECORDS_RAW = 1       # ... and "base64"
    RECORDS_HOOK = 2      # ... and what the hook returns
    RECORDS_COUNT = 3     # the size, and the context counts them


# The options of JSON text: the form of records fields, and the known topic names.
cdef struct JsonContext:
    int records
    PyObject* hook        # borrowed; called with a memoryview, returns bytes: the JSON text of "batches"
    int64_t records_seen, records_size    # the number of records fields and their bytes, if they are counted
    NameTable* names      # or NULL
    bint secrets          # show secrets
    bint metadata         # the current topic is Kafka's metadata log
    int resource          # the current resource's type (ConfigResource.Type)
    size_t name_at, name_size     # the place of the current config's name in the text, with quotes
    size_t redactions     # the number of hidden values so far
    bint erred            # there may be an error code other than 0; callers reset it before
    bint inner_known      # an envelope's request was read, with this API key and version
    int inner_key, inner_version


# The position of a reader, and the reason why it stopped.
cdef struct Cursor:
    const uint8_t* base
    const uint8_t* at
    const uint8_t* end
    int code
    Py_ssize_t where      # bytes from base to the fault
    int64_t need, left    # numbers for the error's text, by code
    int64_t says, here    # of the innermost array with fewer elements than its count: count, elements; -1: none
    PyObject* path        # a list of names and indexes, innermost first, or NULL
    JsonContext* context


# The path of a writer: at each level of the value the name, or the index if there is no name.
cdef struct Trail:
    int depth
    PyObject* name[40]
    Py_ssize_t index[40]


# Two readers side by side, and the differences of their messages.
cdef struct Pair:
    Cursor one
    Cursor other
    Trail trail
    PyObject* found       # borrowed lists: differences; values that only the other has
    PyObject* added
    PyObject* batch       # borrowed: the Message of a batch's header; NULL: compare records as bytes


cdef class Names:
    cdef NameTable table


cdef class Node:
    cdef readonly Py_ssize_t least         # the fewest bytes of a value
    cdef Py_ssize_t fixed                  # the bytes of every value, except for its tags; 0: they vary
    cdef bint silent                       # any bytes of the fixed width are a value, and none tell an error or a topic
    cdef readonly bint guarded             # JSON hides bytes that belong to no known field
    cdef public object fallback            # the interpreted codec, for bytes that the core refuses

    cdef PyObject* read_c(self, Cursor* cursor) noexcept
    cdef int json_c(self, Cursor* cursor, Out* out) noexcept
    cdef int skip_c(self, Cursor* cursor) noexcept
    cdef int scan_c(self, Cursor* cursor, Out* out) noexcept
    cdef int diff_c(self, Pair* pair, int sides) except -2    # 0, or -1 if refused
    cdef int write_c(self, PyObject* value, Out* out, Trail* trail) except -1
    cdef int slow(self, Cursor* cursor, Py_ssize_t offset) except -1
    cdef int refuse(self, const uint8_t* data, Py_ssize_t size, Py_ssize_t offset) except -1

    # Writes the JSON text of one message at the start of `data`; returns its bytes; -1 if refused (out.size is then as
    # before): the Python method `json` of this node then has the full error, or reads non-canonical bytes the slower
    # way. -2: an exception, as a hook raised, or there is no memory. whole: remaining bytes become "_trailing", or are
    # refused by a guarded message that hides secrets.
    cdef Py_ssize_t json_at(
        self, const uint8_t* data, Py_ssize_t size, Out* out, JsonContext* context, bint whole
    ) except -2
    # The same without text, except for the error codes: a key and number for each that is not 0.
    cdef Py_ssize_t scan_at(self, const uint8_t* data, Py_ssize_t size, Out* out, JsonContext* context) except -2
    cdef bint refuses_rest(self, Cursor* cursor) noexcept
    cdef Py_ssize_t refused(self, Cursor* cursor) except -2
    # The bytes of the message; -1 if refused.
    cdef Py_ssize_t skip_at(self, const uint8_t* data, Py_ssize_t size) noexcept


# A compiled selection: parts in the order of the bytes.
cdef struct Pick:         # a field of a run: its offset in the run's bytes, and its slot in the row
    int op, at, slot


cdef struct Blank:        # the value of a slot in entries that have none for it
    int64_t value
    int slot


cdef struct Program:
    Part* parts
    Blank* blanks         # those slots of an array's row that not every entry fills
    int count, blank


# One step of a program: fields of fixed width, if any, and the field after them.
cdef struct Part:
    int what
    int op, flags
    int width             # bytes of the fixed fields
    int slot              # -1: not needed
    int level             # of an array's rows, or of unknown tags'
    int unknown           # slot of the count of unknown tags
    int tag_count
    uint8_t first, brief  # compact lengths of one byte that are valid: `brief` of them from `first` on; 0: none
    Py_ssize_t least      # bytes of an array's element
    Pick* picks           # int32 in front, then int64, then the others; and the end of each kind
    Pick* fours
    Pick* eights
    Pick* others
    TagPart* tags
    PyObject* node        # borrowed: the Selection holds it
    Program below


cdef struct TagPart:
    uint32_t tag
    int slot              # of a 1 if it was sent
    Program below


# The rows of one array's entries, or of the message itself (level 0), each of `width` bytes.
cdef struct Level:
    Out rows
    const char* template  # a new row
    size_t width


@cython.final
cdef class Selection:
    cdef Node node
    cdef list held
    cdef int depth
    cdef Level* levels
    cdef Program program

    # Fills the levels from the message at `at`; returns its bytes, -1 if it can't be read (the interpreted grammar
    # might). The levels stay until the next message. Slices are relative to `base`.
    cdef Py_ssize_t select_at(self, const uint8_t* base, const uint8_t* at, const uint8_t* end) except -2
    cdef int64_t* add_row(self, int level) noexcept
    cdef int run(self, Program* program, Cursor* cursor, int64_t* row, size_t slots, int64_t rows) noexcept
    cdef int run_each(self, Part* part, Cursor* cursor, int64_t count) noexcept
    cdef int run_rare(self, Part* part, Cursor* cursor, int64_t* row) noexcept
    cdef int run_maybe(self, Part* part, Cursor* cursor, int64_t* row) noexcept
    cdef int run_tags(self, Part* part, Cursor* cursor, int64_t* row) noexcept
    cdef int run_tag(self, TagPart* found, uint32_t size, Cursor* cursor, int64_t* row) noexcept
