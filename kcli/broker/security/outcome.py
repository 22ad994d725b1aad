"""Failures of a login."""

from __future__ import annotations

OTHER_NAME = "Authentication failed: Client requested an authorization id that is different from username"


class LoginError(Exception):
    """The client is not who it says it is. Its text goes to the client; "": only that its credentials are invalid."""
