"""Joins IP fragments (see fragments.pyx)."""

class Fragments:
    """Datagrams whose fragments come."""

    joined: int
    refused: int
    crowded: int
