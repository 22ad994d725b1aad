# The selection of partitions in Fetch and Produce.

cdef enum:
    # Slots of a message's row
    SESSION = 0           # of a request
    EPOCH = 1
    FAILED = 0            # of a response
    # Columns of a partition
    INDEX = 0
    OFFSET = 1
    LIMIT = 2
    ERROR = 3
    HIGH = 4
    STABLE = 5
    START = 6
    LEADER = 7
    COLUMNS = 8
    # Levels of rows
    TOPICS = 1
    PARTITIONS = 2
    ENDPOINTS = 3         # of a response
    # Kinds of text
    NAME = 0
    ID = 1
    QUOTED = 2            # a name as JSON text
    SERVER = 3            # an endpoint


# Rows of topics and of a response's endpoints.
cdef struct TopicRow:
    int64_t partitions, text, size


cdef struct EndpointRow:
    int64_t node, port, host, size


cdef class Layout:
    """The layout of one version: (selection, columns of a partition's slots, whether its records follow them, whether
    topics have ids) of request and response, from `kcli.pipeline.rows.projections`.
    """

    cdef Selection asks, reports
    cdef int columns[2][COLUMNS]
    cdef int counts[2]
    cdef bint records[2]
    cdef int kinds[2]

    def __init__(self, request, response):
        self.asks, self.reports = request[0], response[0]
        for side, (_, columns, records, by_ids) in enumerate((request, response)):
            self.counts[side], self.records[side], self.kinds[side] = len(columns), records, ID if by_ids else NAME
            for i, column in enumerate(columns[:COLUMNS]):
                self.columns[side][i] = column
