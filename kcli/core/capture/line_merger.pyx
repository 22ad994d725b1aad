"""Merges the lines of several processes in order, and adds the topic names that a process could not know.

The process that reads a connection learns the topic names in it. Lines of other processes lack these names from that
place on, until the processes are sent the names; they are added here.
"""

from cpython.buffer cimport PyBUF_READ, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from kcli.core.capture.line_order cimport Mark
from kcli.core.codec.messages cimport Name, NameTable, Out, name_find, name_learn, names_free, out_free, out_put

__all__ = ["LineMerger"]

cdef extern from "topic_names.h" nogil:
    int insert "kn_insert"(Out* out, NameTable* known, const char* p, const char* end, int64_t now)

cdef enum:
    WHOLE = 1 << 12         # bytes of one process that are written in place; fewer are copied

cdef struct Source:
    Py_buffer text, marks, log
    const char* at          # the next bytes of each
    const Mark* mark
    const Mark* end
    const char* learnt

# Text to write: in place, or (NULL) in `LineMerger.out`, at an offset.
cdef struct Piece:
    const char* text
    size_t start, size


cdef class LineMerger:
    """Merges the parts of a stretch of a capture, which are results of LineOrder.take.

    write: called with memoryviews, which are valid as long as the parts are, and until the next stretch. written:
    bytes.
    """

    cdef NameTable names
    cdef Out out, pieces, fresh
    cdef size_t noted       # bytes of `out` that are in `pieces`
    cdef readonly uint64_t written
    cdef object write

    def __init__(self, write):
        self.write = write

    def __dealloc__(self):
        names_free(&self.names)
        out_free(&self.out)
        out_free(&self.pieces)
        out_free(&self.fresh)

    def merge(self, parts):
        """Write the lines of all parts. parts: (text, marks, log of names) of each process.

        Return the log of names that no process knew before. Return None, and write nothing more, if a topic has got
        another name, as other processes have used the former one since. Raises ValueError for an invalid part.
        """
        cdef Source* sources = <Source*>calloc(len(parts), sizeof(Source))
        cdef int count = 0, i
        cdef bint done
        if sources == NULL:
            raise MemoryError
        try:
            for text, marks, log in parts:
                open_source(&sources[count], text, marks, log)
                count += 1
            self.fresh.size = self.out.size = self.pieces.size = self.noted = 0
            done = self.merge_all(sources, count)
            self.write_pieces()
            return PyBytes_FromStringAndSize(self.fresh.data, self.fresh.size) if done else None
        finally:
            for i in range(count):
                close_source(&sources[i])
            free(sources)

    cdef bint merge_all(self, Source* sources, int count) except -1:
        """Merge the lines of all sources by their marks. Return False if a topic has got another name."""
        cdef Source* source
        cdef const Mark* limit
        cdef const char* start
        while True:
            source = first_of(sources, count, &limit)
            if source == NULL:
                return True
            start = source.at
            while source.mark < source.end and (limit == NULL or not is_before(limit, source.mark)):
                if source.mark.missed:
                    self.put(start, source.at - start)
                    self.put_named(source.at, source.mark.size)
                    start = source.at + source.mark.size
                source.at += source.mark.size
                if source.mark.learnt and not self.learn(source, source.mark.learnt):
                    self.put(start, source.at - start)
                    return False
                source.mark += 1
            self.put(start, source.at - start)

    cdef bint learn(self, Source* source, size_t size) except -1:
        """Learn the topic names in the next `size` bytes of a source's log. Return False if a topic has got another
        name.
        """
        cdef const char* end = source.learnt + size
        cdef const uint8_t* id
        cdef Name* name
        cdef uint32_t length
        while source.learnt < end:
            id = <const uint8_t*>source.learnt
            memcpy(&length, source.learnt + 16, 4)
            name = name_find(&self.names, id)
            text = b"\0" * 8 + b',"_topicName":' + source.learnt[20 : 20 + length]
            if name == NULL:
                if name_learn(&self.names, id, text, len(text)) or out_put(&self.fresh, source.learnt, 20 + length):
                    raise MemoryError
            elif name.size != <size_t>len(text) or memcmp(name.text, <const char*>text, name.size) != 0:
                return False
            source.learnt += 20 + length
        return True

    cdef int put(self, const char* text, size_t size) except -1:
        if size >= WHOLE:
            self.note_own()
            return self.note(text, 0, size)
        if size and out_put(&self.out, text, size):
            raise MemoryError
        return 0

    cdef int put_named(self, const char* text, size_t size) except -1:
        """Append lines that lack topic names, with the names inserted."""
        if insert(&self.out, &self.names, text, text + size, 1) < 0:
            raise MemoryError
        return 0

    cdef int note_own(self) except -1:
        """Note the rest of `out` as the next lines."""
        if self.out.size > self.noted:
            self.note(NULL, self.noted, self.out.size - self.noted)
            self.noted = self.out.size
        return 0

    cdef int note(self, const char* text, size_t start, size_t size) except -1:
        cdef Piece piece = Piece(text, start, size)
        if out_put(&self.pieces, <const char*>&piece, sizeof(Piece)):
            raise MemoryError
        return 0

    cdef int write_pieces(self) except -1:
        cdef const Piece* piece
        cdef const Piece* end
        cdef const char* text
        self.note_own()
        piece = <const Piece*>self.pieces.data
        end = piece + self.pieces.size // sizeof(Piece)
        while piece < end:
            text = piece.text if piece.text != NULL else self.out.data + piece.start
            self.write(PyMemoryView_FromMemory(<char*>text, piece.size, PyBUF_READ))
            self.written += piece.size
            piece += 1
        return 0


cdef inline bint is_before(const Mark* one, const Mark* other) noexcept:
    return one.segment < other.segment or (one.segment == other.segment and one.rank < other.rank)


cdef Source* first_of(Source* sources, int count, const Mark** limit) noexcept:
    """Return the source of the next lines, NULL at the end. limit: set to the first mark of the other sources, or
    NULL.
    """
    cdef Source* first = NULL
    cdef Source* source
    cdef int i
    limit[0] = NULL
    for i in range(count):
        source = &sources[i]
        if source.mark == source.end:
            continue
        if first == NULL:
            first = source
        elif is_before(source.mark, first.mark):
            limit[0] = first.mark
            first = source
        elif limit[0] == NULL or is_before(source.mark, limit[0]):
            limit[0] = source.mark
    return first


cdef int open_source(Source* source, text, marks, log) except -1:
    cdef const Mark* mark
    cdef uint64_t size = 0, learnt = 0
    PyObject_GetBuffer(text, &source.text, PyBUF_SIMPLE)
    PyObject_GetBuffer(marks, &source.marks, PyBUF_SIMPLE)
    PyObject_GetBuffer(log, &source.log, PyBUF_SIMPLE)
    source.at, source.learnt = <const char*>source.text.buf, <const char*>source.log.buf
    source.mark = <const Mark*>source.marks.buf
    source.end = source.mark + source.marks.len // sizeof(Mark)
    mark = source.mark
    while mark < source.end:
        size += mark.size
        learnt += mark.learnt
        mark += 1
    if size != <uint64_t>source.text.len or learnt != <uint64_t>source.log.len:
        close_source(source)
        raise ValueError("marks of other lines")
    return 0


cdef void close_source(Source* source) noexcept:
    PyBuffer_Release(&source.text)
    PyBuffer_Release(&source.marks)
    PyBuffer_Release(&source.log)
