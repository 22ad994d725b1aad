"""Tests of slips named, and the judge that counts how many are."""
