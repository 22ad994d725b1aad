"""Anonymizes captures for sharing: names, addresses and data are replaced; sizes, times and errors stay."""
