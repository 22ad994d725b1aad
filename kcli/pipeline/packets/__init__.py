"""Packets of captures before they are decoded: ranges, shares, windows, and the connections open at the end of a
run.
"""
