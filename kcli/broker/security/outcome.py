"""Failures of a login."""

from __future__ import annotations

OTHER_NAME = "Authentication failed: Client requested an authorization id that is different from username"


class LoginError(Exception):
    """Authentication failed. The client gets the text; "": only that its credentials are invalid."""
