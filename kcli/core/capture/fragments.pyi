"""Joins IP fragments (see fragments.pyx)."""

class Fragments:
    """Datagrams whose fragments are being received."""

    joined: int
    refused: int
    crowded: int
