# Exchanges that come as values of Python.


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
