"""Connections of the embedded broker: they listen, receive and queue requests, and send responses."""
