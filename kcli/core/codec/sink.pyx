"""What takes exchanges straight from the capture engine, before any Python object is made of them."""


cdef class Sink:
    def begin(self, streams):
        """Learn of the streams (kcli.core.capture.streams.Streams) whose exchanges are to come."""

    cdef bint take(self, Exchange* e) except -1:
        """False: not taken, and nothing changed."""
        return False


cdef class Layouts:
    """What `find(key, version)` says of how a version is read, asked once."""

    def __init__(self, find):
        self.find, self.kept = find, []

    cdef PyObject* of(self, int key, int version) except NULL:
        """None beyond the versions that the core knows."""
        if not (0 <= key < KEYS and 0 <= version < VERSIONS):
            return <PyObject*>None
        if self.found[key][version] == NULL:
            made = self.find(key, version)
            self.kept.append(made)
            self.found[key][version] = <PyObject*>made
        return self.found[key][version]
