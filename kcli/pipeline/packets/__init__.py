"""Packets of captures on their way to the decoder: ranges, shares, windows, and what is open at the end."""
