# Reading: bounds, varints, and the reason why a reader stopped.

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memmove, memset

from kcli.core.codec.values import bytes_of, records_of, text_of, uuid_bytes
from kcli.errors import DecodeError, EncodeError, UnknownFieldError


cdef extern from "bytes.h" nogil:
    enum: KC_VARINT_CUT, KC_VARINT_LONG, KC_VARINT_PADDED
    uint16_t be16 "kc_be16"(const uint8_t* at)
    uint32_t be32 "kc_be32"(const uint8_t* at)
    uint64_t be64 "kc_be64"(const uint8_t* at)
    double be_double "kc_double"(const uint8_t* at)
    void set16 "kc_set16"(void* at, uint16_t value)
    void set32 "kc_set32"(void* at, uint32_t value)
    void set64 "kc_set64"(void* at, uint64_t value)
    void set_double "kc_set_double"(void* at, double value)
    int c_uvarint "kc_uvarint"(const uint8_t* at, const uint8_t* end, uint32_t* value)
    uint8_t* set_uvarint "kc_set_uvarint"(uint8_t* at, uint32_t value)


# Raw references, which the readers count themselves, so that no check is between fields.
cdef extern from "Python.h":
    PyObject* None_ "Py_None"
    PyObject* True_ "Py_True"
    PyObject* False_ "Py_False"
    void incref "Py_INCREF"(PyObject*)
    void decref "Py_DECREF"(PyObject*)
    void xdecref "Py_XDECREF"(PyObject*)
    PyObject* dict_copy "PyDict_Copy"(PyObject*)
    PyObject* dict_new "PyDict_New"()
    int dict_set "PyDict_SetItem"(PyObject*, PyObject*, PyObject*)
    PyObject* dict_get "PyDict_GetItemWithError"(PyObject*, PyObject*)
    bint dict_next "PyDict_Next"(PyObject*, Py_ssize_t*, PyObject**, PyObject**)
    Py_ssize_t dict_size "PyDict_GET_SIZE"(PyObject*)
    bint is_dict "PyDict_Check"(PyObject*)
    PyObject* list_new "PyList_New"(Py_ssize_t)
    int list_append "PyList_Append"(PyObject*, PyObject*)
    void list_set "PyList_SET_ITEM"(PyObject*, Py_ssize_t, PyObject*)
    bint is_list "PyList_Check"(PyObject*)
    Py_ssize_t list_size "PyList_GET_SIZE"(PyObject*)
    PyObject* list_item "PyList_GET_ITEM"(PyObject*, Py_ssize_t)
    PyObject* int_new "PyLong_FromLongLong"(long long)
    bint is_int "PyLong_Check"(PyObject*)
    bint is_bool "PyBool_Check"(PyObject*)
    bint is_float "PyFloat_Check"(PyObject*)
    bint is_str "PyUnicode_Check"(PyObject*)
    long long int_value "PyLong_AsLongLongAndOverflow"(PyObject*, int*)
    PyObject* float_new "PyFloat_FromDouble"(double)
    double float_value "PyFloat_AsDouble"(PyObject*)
    PyObject* str_decode "PyUnicode_DecodeUTF8"(const char*, Py_ssize_t, const char*)
    PyObject* str_ascii "PyUnicode_New"(Py_ssize_t, unsigned int)
    void* str_data "PyUnicode_DATA"(PyObject*)
    const char* str_utf8 "PyUnicode_AsUTF8AndSize"(PyObject*, Py_ssize_t*)
    PyObject* bytes_new "PyBytes_FromStringAndSize"(const char*, Py_ssize_t)
    PyObject* err_occurred "PyErr_Occurred"()
    void err_clear "PyErr_Clear"()
    void err_no_memory "PyErr_NoMemory"()
    int gc_disable "PyGC_Disable"()
    int gc_enable "PyGC_Enable"()
    object view_of "PyMemoryView_FromMemory"(char*, Py_ssize_t, int)
    char* double_text "PyOS_double_to_string"(double, char, int, int, int*)
    void mem_free "PyMem_Free"(void*)


cdef enum Code:
    FINE = 0
    SHORT            # `need` bytes, but only `left` are there
    LONG_VARINT      # a varint of more than 32 bits
    NOT_NULLABLE     # null in a version without null
    COUNT            # an array of `need` elements that may take no bytes; `left` bytes are there
    TAG_SIZE         # a tagged field whose size is `need` bytes and whose value takes `left`
    ODD              # perhaps lawful, but not canonical: for the fallback
    RAISED           # a Python exception is set


cdef int stop(Cursor* cursor, int code, const uint8_t* at, int64_t need, int64_t left) noexcept:
    cursor.code = code
    cursor.where = at - cursor.base
    cursor.need = need
    cursor.left = left
    return -1


cdef inline int short_of(Cursor* cursor, int64_t need) noexcept:
    return stop(cursor, SHORT, cursor.at, need, cursor.end - cursor.at)


cdef int raised(Cursor* cursor) noexcept:
    cursor.code = RAISED
    return -1


cdef int no_memory(Cursor* cursor) noexcept:
    err_no_memory()
    return raised(cursor)


cdef inline int varint(Cursor* cursor, uint32_t* value) noexcept:
    cdef int took = c_uvarint(cursor.at, cursor.end, value)
    if took > 0:
        cursor.at += took
        return 0
    if took == KC_VARINT_CUT:
        return stop(cursor, SHORT, cursor.at, cursor.end - cursor.at + 1, cursor.end - cursor.at)
    return stop(cursor, LONG_VARINT if took == KC_VARINT_LONG else ODD, cursor.at, 0, 0)


cdef int within(Cursor* cursor, object name) noexcept:
    """Note the path of an error while returning from it; always return -1."""
    if cursor.code == ODD or cursor.code == RAISED:
        return -1
    cdef PyObject* made
    if cursor.path == NULL:
        made = list_new(0)
        if made == NULL:
            return raised(cursor)
        cursor.path = made
    if list_append(cursor.path, <PyObject*>name):
        return raised(cursor)
    return -1


cdef void start(Cursor* cursor, const uint8_t* data, Py_ssize_t size, JsonContext* context) noexcept:
    cursor.base = cursor.at = data
    cursor.end = data + size
    cursor.code = FINE
    cursor.where = 0
    cursor.need = cursor.left = 0
    cursor.says = cursor.here = -1
    cursor.path = NULL
    cursor.context = context


cdef object path_text(object names):
    """Return `topics[3].partitions[5].fetchOffset` from names and indexes, innermost first."""
    text = ""
    for name in reversed(names):
        if isinstance(name, int):
            text += f"[{name}]"
        else:
            text += f".{name}" if text else name
    return text


cdef object entries_text(Py_ssize_t count):
    return "1 entry" if count == 1 else f"{count} entries"


cdef object reason_text(Cursor* cursor, Py_ssize_t offset):
    cdef Py_ssize_t where = cursor.where + offset
    if cursor.code == SHORT:
        text = f"needs {cursor.need} byte{'' if cursor.need == 1 else 's'} at {where:#x}, {cursor.left} left"
        if cursor.says >= 0:
            verb = "is" if cursor.here == 1 else "are"
            text += f" (the array says {entries_text(cursor.says)}, {cursor.here} {verb} here)"
        return text
    if cursor.code == LONG_VARINT:
        return f"a varint at {where:#x} goes on after 32 bits"
    if cursor.code == NOT_NULLABLE:
        return f"null at {where:#x}, where this version allows none"
    if cursor.code == COUNT:
        return f"an array at {where:#x} says {entries_text(cursor.need)}, {cursor.left} bytes are left"
    return f"a tagged field at {where:#x} says {cursor.need} bytes and takes {cursor.left}"


cdef int fail(Cursor* cursor, Py_ssize_t offset) except -1:
    """Raise the error for the cursor's stop (not ODD), with its offset in the given buffer."""
    if cursor.code == RAISED:
        xdecref(cursor.path)
        if err_occurred() == NULL:
            err_no_memory()
        return -1
    names = []
    if cursor.path != NULL:
        names = <object>cursor.path
        decref(cursor.path)
        cursor.path = NULL
    raise DecodeError(path_text(names), cursor.where + offset, reason_text(cursor, offset))


cdef object _kept = None


cdef void keep_error(object error) noexcept:
    """Keep a hook's exception, to raise it again at the top, as the levels between do not check."""
    global _kept
    _kept = error
