"""Sinks receive exchanges directly from the capture engine, before they become Python objects."""


cdef class Sink:
    def begin(self, streams):
        """Take the streams (kcli.core.capture.streams.Streams) whose exchanges follow."""

    cdef bint take(self, Exchange* e) except -1:
        """Take an exchange. Return False, with nothing changed, if it is not accepted."""
        return False


cdef class Layouts:
    """The layouts of versions from `find(key, version)`, which is called once for each."""

    def __init__(self, find):
        self.find, self.kept = find, []

    cdef PyObject* of(self, int key, int version) except NULL:
        """Return the layout of a version; None for versions beyond those that the core knows."""
        if not (0 <= key < KEYS and 0 <= version < VERSIONS):
            return <PyObject*>None
        if self.found[key][version] == NULL:
            made = self.find(key, version)
            self.kept.append(made)
            self.found[key][version] = <PyObject*>made
        return self.found[key][version]
