# The values by which an exchange is counted: those in its header and frames, and names in its JSON text.

cdef extern from *:
    """
    #include <string.h>
    static const char *kc_search(const char *p, const char *end, const char *text, size_t size) {
        /* Returns the place after the next such text; NULL: none. */
        const char *found = memmem(p, (size_t)(end - p), text, size);
        return found == NULL ? NULL : found + size;
    }
    static const char *kc_text_end(const char *p, const char *end) {
        /* Returns the place of the quote that ends a JSON text. */
        while (p < end && *p != '"') p += *p == '\\\\' ? 2 : 1;
        return p < end ? p : end;
    }
    """
    const char* search "kc_search"(const char* p, const char* end, const char* text, size_t size) nogil
    const char* text_end "kc_text_end"(const char* p, const char* end) nogil

cdef enum:
    # The columns of groups
    BY_API = 0
    BY_VERSION = 1
    BY_CLIENT = 2
    BY_BROKER = 3
    BY_CONNECTION = 4
    BY_ERROR = 5
    BY_TIME = 6
    BY_FILE = 7
    BY_TOPIC = 8
    BY_PARTITION = 9          # with its topic
    BY_GROUP = 10
    # Kinds of texts other than the five of these
    TOPIC_ID = 16
    FEW_SEEN = 1 << 12

COLUMNS = {
    "api": BY_API, "version": BY_VERSION, "client": BY_CLIENT, "broker": BY_BROKER, "connection": BY_CONNECTION,
    "error": BY_ERROR, "minute": BY_TIME, "second": BY_TIME, "interval": BY_TIME, "file": BY_FILE, "topic": BY_TOPIC,
    "partition": BY_PARTITION, "group": BY_GROUP,
}


cdef class GroupValues:
    """The values of one exchange after the other; a column has several if the exchange names several topics,
    partitions or groups.

    by: names out of COLUMNS. widths: of intervals of time by name, in ns. file: the exchange's.
    """

    cdef Texts texts
    cdef Out[MOST_BY] values
    cdef Map seen
    cdef int[MOST_BY] by
    cdef uint64_t[MOST_BY] widths
    cdef int count
    cdef int64_t file, changed
    cdef object file_at       # file_at(ns): the number of the file read at that time
    cdef bint named           # some of them are names in the text
    cdef bint beyond          # the exchange has a text beyond MOST_TEXTS

    def __init__(self, by, widths):
        self.count = len(by)
        for i, name in enumerate(by):
            self.by[i] = COLUMNS[name]
            self.widths[i] = max(1, widths.get(name, 1))
            self.named = self.named or self.by[i] >= BY_TOPIC

    def __dealloc__(self):
        cdef int i
        texts_free(&self.texts)
        map_free(&self.seen)
        for i in range(MOST_BY):
            out_free(&self.values[i])

    cdef int take(self, Exchange* e, int client, Out* errors) except -1:
        """Read an exchange's values except names. client: bytes of the request's client id, below 0: null; errors:
        int64 codes.
        """
        cdef int i
        self.beyond = False
        for i in range(self.count):
            self.values[i].size = 0
            if self.by[i] == BY_API:
                self.put(i, e.key)
            elif self.by[i] == BY_VERSION:
                self.put(i, e.version)
            elif self.by[i] == BY_CLIENT:
                self.put(i, self.number(e.request + 10, client, BY_CLIENT) if client >= 0 else 0)
            elif self.by[i] == BY_BROKER:
                self.put(i, self.number(<const uint8_t*>e.link, dash_at(e.link, e.link_size), BY_BROKER))
            elif self.by[i] == BY_CONNECTION:
                self.put(i, self.number(<const uint8_t*>e.link, e.link_size, BY_CONNECTION))
            elif self.by[i] == BY_TIME:
                self.put(i, e.ts // self.widths[i])
            elif self.by[i] == BY_FILE:
                self.put(i, self.file_at(e.ts) if e.response == NULL and <int64_t>e.ts <= self.changed else self.file)
            elif self.by[i] == BY_ERROR:
                if errors.size == 0:
                    self.put(i, 0)
                elif out_put(&self.values[i], errors.data, errors.size):
                    raise MemoryError
        return 0

    cdef int take_names(self, tuple scans, Out* request, Out* response) except -1:
        """Read the names in the text of both sides. scans: from ExchangeCounts' `fields`."""
        cdef int i
        for i in range(self.count if self.named else 0):
            if self.by[i] >= BY_TOPIC:
                self.put_names(i, scans, request, response)
                if self.values[i].size == 0:
                    self.put(i, 0)
        return 0

    cdef int put(self, int i, int64_t value) except -1:
        if out_put(&self.values[i], &value, sizeof(value)):
            raise MemoryError
        return 0

    cdef int64_t number(self, const void* data, size_t size, int kind) except -1:
        """Return a text's number; 0 for a new one beyond MOST_TEXTS, whose exchange is counted among the others."""
        cdef int64_t number = text_find(&self.texts, <const uint8_t*>data, size, kind)
        if not number and self.texts.count >= MOST_TEXTS:
            self.beyond = True
            return 0
        if not number:
            number = text_number(&self.texts, <const uint8_t*>data, size, kind)
            if not number:
                raise MemoryError
        return number

    # Names in the text

    cdef int put_names(self, int i, tuple scans, Out* request, Out* response) except -1:
        """Add the distinct topics, their partitions or the groups that both sides name."""
        cdef int side
        cdef Out* text
        if self.seen.mask > FEW_SEEN:
            map_free(&self.seen)
        elif self.seen.used:
            map_clear(&self.seen)
        for side in range(2 if scans else 0):
            text = response if side else request
            if text.size == 0 or scans[side] is None:
                continue
            topic, is_id, index, group, _ = scans[side]
            if self.by[i] == BY_GROUP:
                self.scan(i, text.data, end_of(text), group, BY_GROUP, None)
            else:
                self.scan(
                    i, text.data, end_of(text), topic, TOPIC_ID if is_id else BY_TOPIC,
                    index if self.by[i] == BY_PARTITION else None
                )
        return 0

    cdef int scan(self, int i, const char* p, const char* end, bytes pattern, int kind, bytes index) except -1:
        """Find each text after the pattern; with `index`, each number after that, between one text and the next."""
        cdef const char* start
        cdef const char* following
        cdef int64_t number
        cdef bint some = pattern is not None
        if not some:
            return 0
        p = search(p, end, PyBytes_AS_STRING(pattern), PyBytes_GET_SIZE(pattern))
        while p != NULL:
            start, p = p, text_end(p, end)
            number = self.number(start, p - start, kind)
            following = search(p, end, PyBytes_AS_STRING(pattern), PyBytes_GET_SIZE(pattern))
            if number and not (kind == TOPIC_ID and is_zero(start, p - start)):
                if index is None:
                    self.put_once(i, number, -1)
                else:
                    self.scan_indexes(i, number, p, end if following == NULL else following, index)
            p = following
        return 0

    cdef int scan_indexes(self, int i, int64_t number, const char* p, const char* end, bytes pattern) except -1:
        cdef int64_t index
        p = search(p, end, PyBytes_AS_STRING(pattern), PyBytes_GET_SIZE(pattern))
        while p != NULL:
            index = 0
            while p < end and 48 <= p[0] <= 57:
                index = index * 10 + p[0] - 48
                p += 1
            self.put_once(i, number, index)
            p = search(p, end, PyBytes_AS_STRING(pattern), PyBytes_GET_SIZE(pattern))
        return 0

    cdef int put_once(self, int i, int64_t number, int64_t index) except -1:
        """Add a value unless the exchange has it already. index: a partition's; -1 for none."""
        if map_find(&self.seen, number, index + 1):
            return 0
        if map_put(&self.seen, number, index + 1, 1):
            raise MemoryError
        return self.put(i, number << 32 | (index + 1 & <int64_t>0xffffffff) if self.by[i] == BY_PARTITION else number)

    # Keys for Python

    cdef tuple key_of(self, const int64_t* codes):
        """Return a group's key as in `ExchangeCounts.take_groups`."""
        cdef int i
        made = []
        for i in range(self.count):
            if self.by[i] == BY_PARTITION:
                made.append(self.text_of(codes[i] >> 32))
                made.append((codes[i] & 0xffffffff) - 1 if codes[i] & 0xffffffff else None)
            elif self.by[i] in (BY_API, BY_VERSION, BY_TIME, BY_FILE):
                made.append(codes[i])
            elif self.by[i] == BY_ERROR:
                made.append(codes[i] if codes[i] else None)
            else:
                made.append(self.text_of(codes[i]))
        return tuple(made)

    cdef object text_of(self, int64_t number):
        cdef Text* text
        if not number:
            return None
        text = &self.texts.texts[number - 1]
        data = (<const char*>text.data)[: text.size]
        if text.kind == TOPIC_ID:
            return (data.decode(),)
        if text.kind >= BY_TOPIC:
            from kcli.jsontext import loads

            return loads(b'"' + data + b'"')
        return data.decode("utf-8", "replace")


cdef inline bint is_zero(const char* p, size_t size) noexcept:
    """Return whether a topic id in base64 is the zero id, which stands for no topic."""
    cdef size_t i
    for i in range(size):
        if p[i] != 65:       # "A"
            return False
    return True


cdef inline size_t dash_at(const char* text, size_t size) noexcept:
    """Return the end of the server's text in "server-client"."""
    cdef size_t i
    for i in range(size):
        if text[i] == 45:
            return i
    return size
