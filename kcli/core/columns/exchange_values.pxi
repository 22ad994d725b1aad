# Rows of `exchanges`, and exchanges that come as values of Python.

# A row of `exchanges`. Times in ns, latency in us; response_bytes -1: no response; link, client: places among the
# current texts, client -1: null. Transfers and pause in ns; they and in_flight are -1 if unknown. cut: CUT_REQUEST and
# CUT_RESPONSE.
cdef struct ExchangeRow:
    int64_t ts, completed, key, version, correlation_id, request_bytes, response_bytes, latency, link, client
    int64_t request_transfer, response_transfer, pause, in_flight, cut


cdef inline int64_t microseconds(int64_t ns) noexcept:
    """Convert nanoseconds to microseconds, rounded down."""
    return ns // 1000 if ns >= 0 else -((999 - ns) // 1000)


cdef list hold(Exchange* e, item):
    """Fill in an exchange from a kcli.capture.kafka.exchange.Exchange; the list holds the objects that it points to."""
    cdef bytes link = item.connection.encode(), request = item.request_frame, response = item.response_frame
    e.link, e.link_size = PyBytes_AS_STRING(link), PyBytes_GET_SIZE(link)
    e.key, e.version, e.ts = item.api_key, item.api_version, item.request_ns
    e.request, e.request_size = <const uint8_t*>PyBytes_AS_STRING(request), PyBytes_GET_SIZE(request)
    e.answered, e.response, e.response_size = 0, NULL, 0
    if response is not None:
        e.answered, e.response = item.response_ns or 0, <const uint8_t*>PyBytes_AS_STRING(response)
        e.response_size = PyBytes_GET_SIZE(response)
    began, answering, e.pause, e.in_flight = item.timing
    e.began, e.answering = began or 0, answering or 0
    return [link, request, response]
