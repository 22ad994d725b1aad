"""TCP streams out of segments (see streams.pyx): what the engine uses; nothing for Python."""

class Streams:
    """Counts: TCP segments, and bytes of their payload in all, sent again, and behind a connection's end."""

    segments: int
    payload: int
    duplicate: int
    stray: int
