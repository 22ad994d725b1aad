"""Snapshots of live quorums and of captures: fetched, extracted, compared."""
