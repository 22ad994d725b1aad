"""Replays captured fetch sessions against a live broker."""
