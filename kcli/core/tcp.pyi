"""TCP streams out of segments (see tcp.pyx): the base of kcli.core.capture.Engine, without use of its own in Python."""

class Streams:
    """Counts: TCP segments, and bytes of their payload in all, sent again, and behind a connection's end."""

    segments: int
    payload: int
    duplicate: int
    stray: int
