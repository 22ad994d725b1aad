"""Packets -> TCP streams -> frames -> exchanges: no sockets, bytes in, events out."""
