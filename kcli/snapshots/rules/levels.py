"""metadata.version: feature level <-> name <-> release (Kafka's `MetadataVersion`; KIP-778).

The feature level determines which release's records the log can have. Levels below 7 (3.3) are not in the log, so that
a file without a level is taken as one of 2.8 to 3.2.
"""

FEATURE = "metadata.version"
NAMES = {
    1: "3.0-IV1",
    2: "3.1-IV0",
    3: "3.2-IV0",
    4: "3.3-IV0",
    5: "3.3-IV1",
    6: "3.3-IV2",
    7: "3.3-IV3",
    8: "3.4-IV0",
    9: "3.5-IV0",
    10: "3.5-IV1",
    11: "3.5-IV2",
    12: "3.6-IV0",
    13: "3.6-IV1",
    14: "3.6-IV2",
    15: "3.7-IV0",
    16: "3.7-IV1",
    17: "3.7-IV2",
    18: "3.7-IV3",
    19: "3.7-IV4",
    20: "3.8-IV0",
    21: "3.9-IV0",
    22: "4.0-IV0",
    23: "4.0-IV1",
    24: "4.0-IV2",
    25: "4.0-IV3",
    26: "4.1-IV0",
    27: "4.1-IV1",
    28: "4.2-IV0",
    29: "4.2-IV1",
    30: "4.3-IV0",
    31: "4.4-IV0",
    32: "4.4-IV1",
    33: "4.4-IV2",
    34: "4.5-IV0",
}


def level_name(level: int) -> str:
    """Return the name "4.3-IV0"; for a level without a known name its number as text."""
    return NAMES.get(level, str(level))


def level_release(level: int | None) -> str | None:
    """Return the first release with a level ("4.3"); None for None, or for an unknown level."""
    name = NAMES.get(level) if level is not None else None
    return name.partition("-")[0] if name else None
