"""Outcomes of a login."""

from __future__ import annotations

OTHER_NAME = "Authentication failed: Client requested an authorization id that is different from username"


class LoginError(Exception):
    """Authentication failed. The client gets the text; "": only that its credentials are invalid."""


class Exchange:
    """One exchange of a mechanism. user: who, once it is done; expires: until when (seconds since 1970)."""

    user = ""
    done = False
    expires: float | None = None

    def step(self, message: bytes) -> bytes:
        """Answer a message of the client. Raises LoginError if authentication failed."""
        raise NotImplementedError
