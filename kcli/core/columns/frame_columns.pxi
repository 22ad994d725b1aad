# Frames as on the wire, without the records in them: columns of bytes.

cdef enum:
    CUT_LEAST = 61        # bytes of records that are worth a cut: the header of a batch

# The time of an exchange's response (ns; -1: none), and the number of its row.
cdef struct FrameRow:
    int64_t row, answered

# Records cut out of a response: the place in the shortened response, and their bytes.
cdef struct Cut:
    int64_t place, size


cdef class FrameColumns:
    """Requests and responses of exchanges, one row each."""

    cdef Out rows
    cdef Column request, response, cuts
    cdef Cut* found           # of one response, by place in it
    cdef size_t room

    def __dealloc__(self):
        column_free(&self.request)
        column_free(&self.response)
        column_free(&self.cuts)
        out_free(&self.rows)
        free(self.found)

    cdef int put(self, int64_t row, Exchange* e, Partitions partitions) except -1:
        """Add an exchange's frames. partitions: those of the response, whose records are left out; None: it has
        none.
        """
        cdef FrameRow made
        made.row, made.answered = row, <int64_t>e.answered if e.response != NULL else -1
        if out_put(&self.rows, &made, sizeof(made)) or out_put(&self.request.text, e.request, e.request_size):
            raise MemoryError
        if e.response != NULL:
            self.put_response(
                e.response, e.response_size, 0 if partitions is None else self.find_records(e.response, partitions)
            )
        end(&self.request.ends, self.request.text.size)
        end(&self.response.ends, self.response.text.size)
        end(&self.cuts.ends, self.cuts.text.size)
        return 0

    cdef int put_response(self, const uint8_t* response, size_t m, size_t count) except -1:
        """Add a response without the records that were found, and note these cuts."""
        cdef Cut cut
        cdef size_t i
        cdef int64_t at = 0, place = 0
        for i in range(count):
            place += self.found[i].place - at
            cut.place, cut.size = place, self.found[i].size
            if (
                out_put(&self.response.text, response + at, self.found[i].place - at)
                or out_put(&self.cuts.text, &cut, sizeof(cut))
            ):
                raise MemoryError
            at = self.found[i].place + cut.size
        if out_put(&self.response.text, response + at, m - at):
            raise MemoryError
        return 0

    cdef size_t find_records(self, const uint8_t* response, Partitions partitions) except? 0:
        """Find the records of a response, in their order, and return their number."""
        cdef size_t i, count = 0
        cdef bint sorted_ = True
        cdef Cut* grown
        cdef Part* part
        if partitions.count > self.room:
            grown = <Cut*>realloc(self.found, 2 * partitions.count * sizeof(Cut))
            if grown == NULL:
                raise MemoryError
            self.found, self.room = grown, 2 * partitions.count
        for i in range(partitions.count):
            part = &partitions.parts[i]
            if part.records == NULL or part.size < CUT_LEAST:
                continue
            self.found[count] = Cut(part.records - response, part.size)
            sorted_ = sorted_ and (count == 0 or self.found[count - 1].place < self.found[count].place)
            count += 1
        if not sorted_:
            qsort(self.found, count, sizeof(Cut), by_place)
        return count

    cdef size_t size(self) noexcept:
        return self.request.text.size + self.response.text.size

    cdef tuple take(self):
        """Return (int64 rows of FrameRow, requests, responses, cuts), each of the latter as (ends, bytes); cuts are
        pairs of int64.
        """
        return (
            text(&self.rows), (ends(&self.request.ends), view(&self.request.text)),
            (ends(&self.response.ends), view(&self.response.text)), (ends(&self.cuts.ends), text(&self.cuts.text)),
        )


cdef void column_free(Column* column) noexcept:
    out_free(&column.text)
    out_free(&column.ends)


cdef int by_place(const void* one, const void* other) noexcept nogil:
    cdef int64_t a = (<const Cut*>one).place, b = (<const Cut*>other).place
    return (a > b) - (a < b)
