"""Tests of slips in batches, and the judge that counts how many are named."""
