"""Turns captures, segments and snapshots of whole fleets into tables and reports, on Spark or in this process."""
