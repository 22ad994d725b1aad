"""Reads captures: packets, TCP streams, frames, exchanges and events. It opens no sockets."""
