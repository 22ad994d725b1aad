"""Packets of captures on their way to the decoder: ranges, shares, windows, and connections open at the end."""
