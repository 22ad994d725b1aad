# The JSON text of batches.

cdef size_t MOST_TEXT = 64 << 20  # bytes of lines after which a writer returns to its caller


cdef tuple problem_text(Problem* problem, int64_t start, bint inside):
    """Describe a problem: (path, bytes from the start of the buffer, reason). inside: the position is in decompressed
    bytes.
    """
    suffix, reason = REASONS[problem.code]
    path = "records" if suffix is None else f"records[{problem.record}]{suffix}"
    reason = reason.format(says=problem.says, here=problem.here)
    if inside:
        return path, start, f"{reason} (at 0x{problem.at:x} of the decompressed payload)"
    return path, start + problem.at, f"{reason} (at 0x{start + problem.at:x})"


cdef inline object view_of(const uint8_t* data, Py_ssize_t size):
    return PyMemoryView_FromMemory(<char*> data, size, PyBUF_READ)


cdef int extra_members(void* self, Out* out, const uint8_t* key, int64_t key_size, const uint8_t* value,
                       int64_t value_size) noexcept with gil:
    writer = <BatchText> self
    try:
        text = (writer.control if writer.in_control else writer.record)(
            None if key is NULL else PyBytes_FromStringAndSize(<const char*> key, key_size),
            None if value is NULL else PyBytes_FromStringAndSize(<const char*> value, value_size),
        )
        return out_put(out, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
    except BaseException as error:
        writer.raised = error
        return RAISED


cdef int is_secret(void* self, const uint8_t* value, int64_t size) noexcept with gil:
    """Return whether a value is hidden, also if its check failed."""
    writer = <BatchText> self
    try:
        return bool(writer.secret(view_of(value, size)))
    except BaseException as error:
        writer.raised = error
        return 1


cdef class BatchText:
    """Writes JSON text of batches in kcli's form to a buffer.

    decompress(codec id, payload, magic) -> bytes; raises InputError. control(key, value), record(key, value) -> bytes:
    further members (",...") of a control record, or of any other; None: none. payloads: keep bytes that an encoder
    would not make again ("_payload", "_entry"). positions: write the position of each batch in its file ("_position").
    secret(value) -> bool: whether a record's value is left out, called for values that begin with 1 and one of `types`;
    then bytes that only an encoder would need of that batch are left out as well. suspect(payload) -> bool: whether a
    secret is anywhere in it, called for a batch whose records can't be read, or whose checksum is wrong; then no key,
    value or header of it is shown.
    """

    cdef Out out
    cdef readonly object decompress
    cdef object control, record, raised, error, secret
    cdef readonly object suspect
    cdef Guard guard
    cdef Guard* guarded
    cdef bint payloads, positions, in_control, failed, valid
    cdef Extra on_control, on_record
    cdef readonly list problems      # (bytes from the start of the input, path, reason, start of the batch)
    cdef readonly int64_t batches, records, wrong_checksums

    def __cinit__(self, decompress, control=None, record=None, bint payloads=True, bint positions=False,
                  secret=None, suspect=None, bytes types=b""):
        self.decompress, self.control, self.record, self.payloads = decompress, control, record, payloads
        if control is not None:
            self.on_control = extra_members
        if record is not None:
            self.on_record = extra_members
        self.positions = positions
        self.problems = []
        self.secret, self.suspect = secret, suspect
        if secret is not None:
            for kind in types:
                self.guard.types[kind] = 1
            self.guard.judge = is_secret
            self.guard.self = <void*> self
            self.guarded = &self.guard

    def __dealloc__(self):
        out_free(&self.out)

    def take(self):
        """Return the text so far as bytes, and empty the buffer."""
        text = PyBytes_FromStringAndSize(self.out.data, self.out.size)
        self.out.size = 0
        return text

    def take_list(self):
        """Return the text so far as a JSON list, and empty the buffer."""
        text = PyBytes_FromStringAndSize(NULL, self.out.size + 2)
        cdef char* p = PyBytes_AS_STRING(text)
        p[0] = b"["
        if self.out.size:
            memcpy(p + 1, self.out.data, self.out.size)
        p[self.out.size + 1] = b"]"
        self.out.size = 0
        return text

    def text(self):
        """Return the text so far as a memoryview, valid until the next `write` or `clear`."""
        return view_of(<const uint8_t*> self.out.data, self.out.size) if self.out.size else memoryview(b"")

    def clear(self):
        self.out.size = 0

    def take_findings(self):
        """Return (batches, records, wrong checksums, problems) since the last call."""
        found = self.batches, self.records, self.wrong_checksums, self.problems
        self.batches = self.records = self.wrong_checksums = 0
        self.problems = []
        return found

    def append(self, bytes text, bint lines=False):
        """Append another row among the batches: an event, as JSON text."""
        if self.out.size and not lines:
            text = b"," + text
        if lines:
            text += b"\n"
        if out_put(&self.out, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text)):
            raise MemoryError

    def write(
        self, data, Py_ssize_t start, Py_ssize_t stop, int64_t base, bint full, Py_ssize_t trusted=-1, bint lines=False
    ):
        """Append the batches of data[start:stop], which are whole entries. Bytes after `stop` are only read to decide
        whether the size of a batch with a wrong checksum is wrong. base: the position of data[0] in its file. trusted:
        the position of such a batch that is to be read anyway. Batches are separated by commas, or each ends its line.

        Returns (reason to stop, position in data): DONE at `stop`; SUSPECT at a batch whose checksum is wrong and after
        which no sound batch begins; PARTIAL, LENGTH, SHORT or MAGIC at bytes that are no batch; FULL before a batch if
        the lines have more than MOST_TEXT bytes, as small batches may decompress to much.
        """
        cdef Py_buffer view
        cdef int code
        self.raised = None
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                code = self.rows(<const uint8_t*> view.buf, &start, stop, view.len, base, full, trusted, lines)
        finally:
            PyBuffer_Release(&view)
        if code == KC_MEMORY:
            raise MemoryError
        if code == RAISED or self.raised is not None:
            raise self.raised
        return code, start

    def write_records(
        self, data, Py_ssize_t start, bytes before not None, bytes behind not None, first=None, timestamp=None
    ):
        """Append the records of the batches from data[start] on, each as a line: `before`, its members from the
        offset's value to the headers, `behind`. first: the offset of the first record, from which the others
        count; below 0: they have none; None: they have those of their batches. timestamp: of all; None: they have their
        own.

        Control batches are skipped. Returns where it ends: before the first batch that is not whole and sound, of magic
        2, with records that can all be read (nothing of it is written or noted), or that is a control batch among
        numbered ones; or after the batch with which the lines have more than MOST_TEXT bytes.
        """
        cdef Py_buffer view
        cdef Line line
        cdef int code
        self.raised = None
        self.guard.all = False
        line.before, line.before_size = <const uint8_t*> PyBytes_AS_STRING(before), PyBytes_GET_SIZE(before)
        line.behind, line.behind_size = <const uint8_t*> PyBytes_AS_STRING(behind), PyBytes_GET_SIZE(behind)
        line.numbered, line.next = first is not None, 0 if first is None else first
        line.timed, line.timestamp = timestamp is not None, 0 if timestamp is None else timestamp
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            with nogil:
                code = self.lines(<const uint8_t*> view.buf, &start, view.len, &line)
        finally:
            PyBuffer_Release(&view)
        if code == KC_MEMORY:
            raise MemoryError
        if code == RAISED or self.raised is not None:
            raise self.raised
        return start

    cdef int lines(self, const uint8_t* p, Py_ssize_t* at, Py_ssize_t size, Line* line) noexcept nogil:
        cdef Batch b
        cdef Problem problem
        cdef size_t before
        cdef int64_t next
        cdef int code, odd
        while at[0] < size and self.out.size <= MOST_TEXT:
            if read_batch(&b, p + at[0], p + size) != KB_OK or b.magic < 2 or batch_checksum(&b) != b.crc:
                return KC_OK
            if b.attributes & KB_CONTROL and line.numbered:
                return KC_OK
            before, next = self.out.size, line.next
            problem.code = KR_OK
            if b.attributes & KB_CODEC and b.count:
                code = self.compressed_lines(&b, &problem, line)
            else:
                code = put_records(
                    &self.out, &b, b.payload, b.payload_size, &odd, &problem, NULL, NULL, self.guarded, line
                )
            if code:
                return code
            if problem.code:
                self.out.size, line.next = before, next
                return KC_OK
            self.batches += 1
            if b.attributes & KB_CONTROL:
                self.out.size = before
            else:
                self.records += b.count
            at[0] += b.size
        return KC_OK

    cdef int compressed_lines(self, Batch* b, Problem* problem, Line* line) noexcept with gil:
        cdef Py_buffer view
        cdef int code, odd
        try:
            used = self.decompress.used
            try:
                payload = self.decompress(b.attributes & KB_CODEC, view_of(b.payload, b.payload_size), b.magic)
                PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
            except InputError:
                problem.code = KR_VALUE
            else:
                with nogil:
                    code = put_records(
                        &self.out, b, <const uint8_t*> view.buf, view.len, &odd, problem, NULL, NULL, self.guarded, line
                    )
                PyBuffer_Release(&view)
                if code:
                    return code
            if problem.code:
                self.decompress.used = used  # it is read again, with its problems
        except BaseException as error:
            self.raised = error
            return RAISED
        return KC_OK

    cdef int rows(self, const uint8_t* p, Py_ssize_t* at, Py_ssize_t stop, Py_ssize_t size, int64_t base, bint full,
                  Py_ssize_t trusted, bint lines) noexcept nogil:
        cdef Batch b
        cdef const uint8_t* end = p + size
        cdef int code
        cdef bint valid
        while at[0] < stop:
            if lines and self.out.size > MOST_TEXT:
                return STOP_FULL
            code = read_batch(&b, p + at[0], end)
            if code != KB_OK:
                return code
            valid = batch_checksum(&b) == b.crc
            if not valid:
                if at[0] != trusted and at[0] + b.size < size and not batch_sound(p + at[0] + b.size, end):
                    return STOP_SUSPECT
                self.wrong_checksums += 1
            if not lines and self.out.size and out_put(&self.out, <const char*> b",", 1):
                return KC_MEMORY
            code = self.row(&b, base + at[0], full, valid)
            if code == KC_OK:
                code = out_put(&self.out, <const char*> (b"}\n" if lines else b"}"), 2 if lines else 1)
            if code:
                return code
            self.batches += 1
            at[0] += b.size
        return KB_OK

    cdef int row(self, Batch* b, int64_t position, bint full, bint valid) noexcept nogil:
        cdef int code
        self.failed, self.valid = False, valid
        self.guard.all = False
        self.guard.hidden = 0
        if out_put(&self.out, <const char*> b"{", 1):
            return KC_MEMORY
        if b.magic < 2:
            code = message_row(self, b, position, full, valid)
        else:
            code = put_header(&self.out, b, position if self.positions else -1, valid, True)
            if code == KC_OK and full:
                code = self.records_row(b, position)
        if code == KC_OK and self.failed:
            code = self.put_error()
        return code

    cdef int records_row(self, Batch* b, int64_t position) noexcept nogil:
        """Write `records` of a batch of magic 2, and the other values that an exact encoder needs."""
        cdef int odd = 0, codec = b.attributes & KB_CODEC
        cdef int code = out_put(&self.out, <const char*> b',"records":[', 12)
        if b.count == 0:
            self.cover(b.payload, b.payload_size)
        if code == KC_OK and b.count != 0:
            if codec:
                code = self.compressed_records(b, position)
            else:
                code = self.put_all(b, b.payload, b.payload_size, &odd, position, False)
        if code == KC_OK:
            code = out_put(&self.out, <const char*> b"]", 1)
        if code == KC_OK and self.payloads and (codec or odd or self.failed or (b.count == 0 and b.payload_size)):
            code = put_payload(
                &self.out, b',"_payload":', b.payload, b.payload_size, self.hides(b.payload, b.payload_size)
            )
        return code

    cdef bint hides(self, const uint8_t* data, size_t size) noexcept nogil:
        """Return whether bytes of the current batch are hidden, because a part of it is secret, or may be if not all
        was read.
        """
        return (
            self.guard.all
            or self.guard.hidden > 0
            or (self.failed and self.guarded is not NULL and self.suspects(data, size))
        )

    cdef void cover(self, const uint8_t* data, size_t size) noexcept nogil:
        """Hide all of the current batch if its checksum is wrong and these bytes of it may hold a secret, as damaged
        data may begin anywhere, and be of any type.
        """
        self.guard.all = not self.valid and self.guarded is not NULL and self.suspects(data, size)

    cdef bint suspects(self, const uint8_t* data, size_t size) noexcept with gil:
        try:
            return bool(self.suspect(view_of(data, size)))
        except BaseException as error:
            self.raised = error
            return True

    cdef int put_all(
        self, Batch* b, const uint8_t* data, size_t size, int* odd, int64_t position, bint inside
    ) noexcept nogil:
        cdef Problem problem
        self.in_control = (b.attributes & KB_CONTROL) != 0
        self.cover(data, size)
        cdef Extra extra = self.on_control if self.in_control else self.on_record
        cdef int code = put_records(&self.out, b, data, size, odd, &problem, extra, <void*> self, self.guarded, NULL)
        self.records += problem.record if problem.code else b.count
        if code == KC_OK and problem.code:
            self.note_problem(&problem, position, position + KB_HEADER_2, inside)
        return code

    cdef int compressed_records(self, Batch* b, int64_t position) noexcept with gil:
        cdef Py_buffer view
        cdef int odd = 0, code
        payload = self.expand(b, position)
        if payload is None:
            return RAISED if self.raised is not None else KC_OK
        PyObject_GetBuffer(payload, &view, PyBUF_SIMPLE)
        with nogil:
            code = self.put_all(b, <const uint8_t*> view.buf, view.len, &odd, position, True)
        PyBuffer_Release(&view)
        return code

    cdef object expand(self, Batch* b, int64_t position):
        """Decompress a payload; return None with the problem noted, or after any other exception (in self.raised)."""
        try:
            return self.decompress(b.attributes & KB_CODEC, view_of(b.payload, b.payload_size), b.magic)
        except InputError as error:
            self.note("records", position, str(error), position)
        except BaseException as error:
            self.raised = error
        return None

    cdef void note_problem(self, Problem* problem, int64_t position, int64_t start, bint inside) noexcept with gil:
        path, at, reason = problem_text(problem, start, inside)
        self.note(path, position if inside else at, reason, position)

    cdef note(self, path, offset, reason, position):
        self.failed = True
        self.error = (path, offset, reason)
        self.problems.append((offset, path, reason, position))

    cdef int put_error(self) noexcept with gil:
        path, offset, reason = self.error
        text = (',"_error":' + dumps({"offset": offset, "path": path, "reason": reason})).encode()
        return out_put(&self.out, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))
