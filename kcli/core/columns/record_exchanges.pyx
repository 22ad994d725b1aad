"""Selects exchanges with wanted records; no Python object is made for others."""

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t

from kcli.core.capture.exchange_json cimport ApiCodecs, ExchangeWriter, steady_codecs
from kcli.core.codec.messages cimport Level, Name, Names, Node, Selection, name_find
from kcli.core.codec.sink cimport Exchange, Layouts, Sink, link_of, values_of

cdef enum:
    # Levels of rows
    TOPICS = 1
    PARTITIONS = 2
    MOST_NAMES = 10000    # names to remember


# Rows of topics and partitions.
cdef struct TopicRow:
    int64_t partitions, text, size


cdef struct PartitionRow:
    int64_t index, records, size


METADATA_LOG = b"__cluster_metadata"    # its id is fixed, and in no message beside its name


cdef class RecordExchanges(Sink):
    """Receives exchanges of steady connections, passes those with records of wanted topics to its owner, and drops all
    others.

    owner: has

    - `layout(key, version)`: returns the place of records: (the header's Node, a Selection, whether that is of the
      response, whether topics have ids); False: no records, and no names; True: no records, but topic names; None: only
      the slower way can tell;
    - `bodies`;
    - `wants_name(name, quoted)`: returns whether records of a topic are wanted, by its name as bytes; quoted: as JSON
      text;
    - `picked(link, *exchange)`: receives (key, version, ts, request, answered, response).

    names: of topic ids. partition: the wanted one; -1: all. A topic whose id has no name yet is wanted.
    """

    cdef object owner
    cdef ExchangeWriter lines
    cdef Names names
    cdef int64_t partition
    cdef Layouts layouts
    cdef dict known

    def __init__(self, owner, Names names not None, int64_t partition=-1):
        self.owner, self.names, self.partition = owner, names, partition
        self.lines = ExchangeWriter(owner.bodies)
        self.layouts, self.known = Layouts(owner.layout), {}

    cdef bint take(self, Exchange* e) except -1:
        cdef int found
        layout = <object>self.layouts.of(e.key, e.version)
        if layout is True:
            return self.learn(e)
        if not isinstance(layout, tuple):
            return layout is False
        found = self.holds(<tuple>layout, e)
        if found > 0:
            self.owner.picked(link_of(e), *values_of(e))
        return found >= 0

    cdef bint learn(self, Exchange* e) except -1:
        """Learn the topic names of an exchange from its text. Return False if only the slower way can."""
        cdef int client
        cdef PyObject* codecs = steady_codecs(self.lines, e, &client)
        self.lines.out.size = 0
        if <object>codecs is None or not self.lines.put_request(<ApiCodecs>codecs, e.request, e.request_size):
            return False
        return e.response == NULL or self.lines.put_response(<ApiCodecs>codecs, e.response, e.response_size)

    cdef int holds(self, tuple layout, Exchange* e) except -2:
        """Return whether an exchange holds wanted records; -1: only the slower way can tell."""
        cdef Selection body = <Selection>layout[1]
        cdef const uint8_t* frame = e.response if layout[2] else e.request
        cdef size_t size = e.response_size if layout[2] else e.request_size, at
        cdef Py_ssize_t start
        cdef TopicRow* topic
        cdef PartitionRow* row
        if frame == NULL:
            return 0
        start = (<Node>layout[0]).skip_at(frame, size)
        if start < 0 or body.select_at(frame, frame + start, frame + size) < 0:
            return -1
        row = <PartitionRow*>body.levels[PARTITIONS].rows.data
        for at in range(0, body.levels[TOPICS].rows.size, sizeof(TopicRow)):
            topic = <TopicRow*>(body.levels[TOPICS].rows.data + at)
            if (
                any_records(row, topic.partitions, -1) and self.wants(frame + topic.text, topic.size, layout[3])
                and (self.partition < 0 or any_records(row, topic.partitions, self.partition))
            ):
                return 1
            row += topic.partitions if topic.partitions > 0 else 0
        return 0

    cdef bint wants(self, const uint8_t* text, int64_t size, bint by_id) except -1:
        """Return whether records of a topic are wanted."""
        cdef Name* name
        if not by_id:
            return size > 0 and self.asked(text[:size], False)
        name = name_find(&self.names.table, text)
        if name != NULL:
            return self.asked((<const char*>name.text)[:name.size], True)
        return not is_metadata(text) or self.asked(METADATA_LOG, False)

    cdef bint asked(self, bytes name, bint quoted) except -1:
        """Return whether the owner wants a name; each name is asked for once."""
        key = name, quoted
        found = self.known.get(key)
        if found is None:
            if len(self.known) >= MOST_NAMES:
                self.known.clear()
            found = self.known[key] = bool(self.owner.wants_name(name, quoted))
        return found


cdef bint any_records(PartitionRow* row, int64_t count, int64_t partition) noexcept:
    """Return whether the partition with this number has records; -1: any partition."""
    cdef int64_t i
    for i in range(count):
        if row[i].size > 0 and (partition < 0 or row[i].index == partition):
            return True
    return False


cdef bint is_metadata(const uint8_t* id) noexcept:
    """Return whether a topic's id is that of the metadata log: 1."""
    cdef int i
    for i in range(15):
        if id[i]:
            return False
    return id[15] == 1
