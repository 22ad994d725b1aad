# The words for a Fetch or Produce without errors, as in kcli/cli/decode/pcap/summaries/produce_fetch.py.

cdef enum:
    LISTED = 3                # names in a list; the rest is counted
    LONG = 40                 # characters of a name that is shown whole
    CODECS = 5
    # Levels of a selection's rows
    TOPICS = 1
    PARTITIONS = 2
    FORGOTTEN = 3

# The cluster's metadata log is named by its id (Uuid.METADATA_TOPIC_ID), whatever name a capture has.
cdef bytes METADATA_ID = bytes(15) + b"\1"
METADATA_TOPIC = b"__cluster_metadata"
CODECS_BY_NUMBER = (b"none", b"gzip", b"snappy", b"lz4", b"zstd")


cdef struct TopicRow:
    int64_t partitions, text, size


cdef struct ProducedRow:
    int64_t index, records, size


cdef struct OffsetRow:
    int64_t index, error, offset


cdef struct FetchedRow:
    int64_t index, error, records, size


cdef class PartitionWords:
    """Writes the words; layouts: from the owner of ExchangeSummaries."""

    cdef Out words
    cdef NameTable* names

    def __dealloc__(self):
        out_free(&self.words)

    cdef object of(
        self, tuple layout, bint fetch, const uint8_t* request, size_t n, const uint8_t* base, const uint8_t* response,
        size_t m
    ):
        """Return the words for a Fetch or Produce; None for one with an error or anything unusual. base: the response's
        frame, NULL without one; response: its body.
        """
        cdef Selection asks = layout[0], reports = layout[1]
        cdef bint good
        self.words.size = 0
        if asks.select_at(request, request, request + n) != <Py_ssize_t>n:
            return None
        if base != NULL and reports.select_at(base, response, response + m) != <Py_ssize_t>m:
            return None
        good = self.fetch(layout, request, base) if fetch else self.produce(layout, request, base != NULL)
        return self.words.data[: self.words.size].decode("ascii") if good else None

    cdef bint produce(self, tuple layout, const uint8_t* request, bint answered) except -1:
        cdef Selection asks = layout[0], reports = layout[1]
        cdef ProducedRow* rows = <ProducedRow*>asks.levels[PARTITIONS].rows.data
        cdef OffsetRow* results = <OffsetRow*>reports.levels[PARTITIONS].rows.data
        cdef size_t i, count = height(asks, PARTITIONS), reported = height(reports, PARTITIONS) if answered else 0
        cdef int64_t acks = (<int64_t*>asks.levels[0].rows.data)[0], records = 0
        cdef int[CODECS] order
        cdef int codecs = 0
        if count == 0 or not self.places(layout, request, sizeof(ProducedRow)):
            return False
        for i in range(count):
            if not count_records(request + rows[i].records, rows[i].size, &records, order, &codecs):
                return False
        self.put(b" ")
        self.put_records(records, order, codecs)
        if acks == 0 or acks == 1:
            self.put(b", no acks" if acks == 0 else b", acks 1")
        if not answered:
            self.put(b" -> no response expected" if acks == 0 else b" -> no response")
            return True
        for i in range(reported):
            if results[i].error:
                return False
        if reported:
            self.put(b" -> at ")
        for i in range(min(reported, <size_t>LISTED)):
            self.put(b", " if i else b"")
            self.put_plain(results[i].offset)
        self.put_more(reported)
        return True

    cdef bint fetch(self, tuple layout, const uint8_t* request, const uint8_t* response) except -1:
        cdef Selection asks = layout[0], reports = layout[1]
        cdef FetchedRow* results = <FetchedRow*>reports.levels[PARTITIONS].rows.data
        cdef int64_t* own = <int64_t*>asks.levels[0].rows.data
        cdef int64_t* answer = <int64_t*>reports.levels[0].rows.data
        cdef int64_t session = 0 if own[0] == INT64_MIN else own[0], epoch = -1 if own[1] == INT64_MIN else own[1]
        cdef int64_t forgotten = 0, records = 0
        cdef size_t i, count = height(asks, PARTITIONS), reported = height(reports, PARTITIONS)
        cdef bint changed = epoch > 0 or count == 0, some = False
        cdef int[CODECS] order
        cdef int codecs = 0
        if answer[0] != INT64_MIN and answer[0]:
            return False
        for i in range(height(asks, FORGOTTEN)):
            forgotten += max(<int64_t>0, (<int64_t*>asks.levels[FORGOTTEN].rows.data)[i])
        self.put_session(session, epoch)
        if changed:
            self.put_count(count, b" changed")
        elif count > LISTED:
            self.put_counted(count, b" partition")
        elif not self.places(layout, request, sizeof(int64_t)):
            return False
        if forgotten:
            self.put(b", ")
            self.put_count(forgotten, b" forgotten")
        self.put(b" -> ")
        if answer[1] != INT64_MIN and answer[1] and epoch == 0:
            self.put(b"session ")
            self.put_plain(answer[1])
            self.put(b", ")
        self.put_counted(reported, b" partition")
        for i in range(reported):
            if (
                results[i].error
                or not count_records(response + results[i].records, results[i].size, &records, order, &codecs)
            ):
                return False
            some = some or results[i].size > 0
        if some:
            self.put(b", ")
            self.put_records(records, order, codecs)
        return True

    # Words

    cdef int put_session(self, int64_t session, int64_t epoch) except -1:
        if epoch == 0 and session == 0:
            return self.put(b"session new, ")
        if epoch == -1 and session == 0:
            return 0
        self.put(b"session ")
        self.put_plain(session)
        if epoch == 0:
            return self.put(b" anew, ")
        if epoch == -1:
            return self.put(b" closed, ")
        self.put(b" epoch ")
        self.put_plain(epoch)
        return self.put(b", ")

    cdef bint places(self, tuple layout, const uint8_t* base, size_t width) except -1:
        """Write "orders[0, 1], refunds[3]", or names and a count if there are many; return False if only the slower way
        can.
        """
        cdef Selection asks = layout[0]
        cdef bint by_ids = layout[2]
        cdef TopicRow* topics = <TopicRow*>asks.levels[TOPICS].rows.data
        cdef const char* row = asks.levels[PARTITIONS].rows.data
        cdef size_t i, count = height(asks, TOPICS), total = height(asks, PARTITIONS)
        cdef int64_t j, start
        cdef bint few = total <= 2 * LISTED
        for i in range(min(count, <size_t>LISTED)):
            start = self.words.size
            if i:
                self.put(b", ")
                start += 2
            if not self.put_topic(base + topics[i].text, topics[i].size, by_ids):
                return False
            for j in range(topics[i].partitions if few else 0):
                self.put(b", " if j else b"[")
                self.put_plain((<int64_t*>row)[0])
                row += width
            if few and topics[i].partitions > 0:
                self.put(b"]")
            if <int64_t>self.words.size - start > LONG:
                return False
        self.put_more(count)
        if not few:
            self.put(b": ")
            self.put_counted(total, b" partition")
        return True

    cdef bint put_topic(self, const uint8_t* text, int64_t size, bint by_id) except -1:
        """Write a topic's name; return False if it is unknown, or not plain."""
        cdef int64_t i
        cdef Name* known
        if by_id and memcmp(text, PyBytes_AS_STRING(METADATA_ID), 16) == 0:
            return self.put(METADATA_TOPIC) == 0
        if by_id:
            known = name_find(self.names, text)
            if known == NULL or known.size < 2:
                return False
            text, size = <const uint8_t*>known.text + 1, known.size - 2      # in quotes
        if size <= 0 or size > LONG:
            return False
        for i in range(size):
            if text[i] < 0x20 or text[i] > 0x7e or text[i] == 92:     # a backslash
                return False
        return self.put_bytes(<const char*>text, size) == 0

    cdef int put_records(self, int64_t records, int* order, int codecs) except -1:
        cdef int i
        self.put_counted(records, b" record")
        for i in range(codecs):
            self.put(b" ")
            self.put(CODECS_BY_NUMBER[order[i]])
        return 0

    cdef int put_more(self, size_t count) except -1:
        """Write the number of entries beyond those that a list shows."""
        if count > LISTED:
            self.put(b" and ")
            self.put_count(count - LISTED, b" more")
        return 0

    cdef int put_counted(self, int64_t number, bytes one) except -1:
        """Write a number with its unit: "1 record", "2,000 records"."""
        self.put_count(number, one)
        return 0 if number == 1 else self.put(b"s")

    cdef int put_count(self, int64_t number, bytes words) except -1:
        cdef char[32] digits
        cdef int i, size = put_uint(digits, number) - digits
        for i in range(size):
            self.put_bytes(digits + i, 1)
            if i < size - 1 and (size - 1 - i) % 3 == 0:
                self.put(b",")
        return self.put(words)

    cdef int put_plain(self, int64_t number) except -1:
        cdef char[32] digits
        digits[0] = 45         # "-"
        return self.put_bytes(
            digits, put_uint(digits + (number < 0), -<uint64_t>number if number < 0 else number) - digits
        )

    cdef int put(self, bytes text) except -1:
        return self.put_bytes(PyBytes_AS_STRING(text), len(text))

    cdef int put_bytes(self, const char* text, size_t size) except -1:
        if out_put(&self.words, text, size):
            raise MemoryError
        return 0


cdef inline size_t height(Selection selection, int level) noexcept:
    return selection.levels[level].rows.size // selection.levels[level].width if level < selection.depth else 0


cdef bint count_records(const uint8_t* data, int64_t size, int64_t* records, int* order, int* codecs) noexcept:
    """Add the records of whole batches of magic 2, and their codecs; return False for anything else."""
    cdef Batch batch
    cdef const uint8_t* end = data + max(<int64_t>0, size)
    cdef int i, codec, found = KB_OK
    while data < end:
        found = read_batch(&batch, data, end)
        if found != KB_OK or batch.magic != 2 or batch.count < 0:
            return False
        codec = batch.attributes & KB_CODEC
        if codec >= CODECS:
            return False
        records[0] += batch.count
        data += batch.size
        if codec:
            for i in range(codecs[0]):
                if order[i] == codec:
                    break
            else:
                order[codecs[0]] = codec
                codecs[0] += 1
    return True
