"""Rules about producers, records and transactions."""
