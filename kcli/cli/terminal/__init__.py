"""Screens, columns, lines and streams: everything commands write passes here."""
