"""Replays captures: one engine, whose policies replay all traffic or only the fetch sessions."""
