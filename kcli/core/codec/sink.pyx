"""Sinks: they take exchanges straight from the capture engine, before any Python object is made of them."""


cdef class Sink:
    def begin(self, streams):
        """Learn of the streams (kcli.core.capture.streams.Streams) whose exchanges are to come."""

    cdef bint take(self, Exchange* e) except -1:
        """Take an exchange. False: it was not taken, and nothing has changed."""
        return False


cdef class Layouts:
    """Layouts of versions as `find(key, version)` gives them, each asked for once."""

    def __init__(self, find):
        self.find, self.kept = find, []

    cdef PyObject* of(self, int key, int version) except NULL:
        """Return the layout of a version; None beyond the versions that the core knows."""
        if not (0 <= key < KEYS and 0 <= version < VERSIONS):
            return <PyObject*>None
        if self.found[key][version] == NULL:
            made = self.find(key, version)
            self.kept.append(made)
            self.found[key][version] = <PyObject*>made
        return self.found[key][version]
