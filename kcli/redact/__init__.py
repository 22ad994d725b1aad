"""Anonymized captures for sharing: names, addresses and data replaced, with sizes, times and errors as they were."""
