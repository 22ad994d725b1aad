"""The base of SASL mechanisms on the server's side, and the error of a login."""

OTHER_NAME = "Authentication failed: Client requested an authorization id that is different from username"


class LoginError(Exception):
    """Authentication failed. The client gets the text, or for "" a general one about invalid credentials."""


class Exchange:
    """A login by one mechanism. user: set when it is done; expires: its end (seconds since 1970), or None."""

    user = ""
    done = False
    expires: float | None = None

    def step(self, message: bytes) -> bytes:
        """Process a message of the client; return the response. Raises LoginError if authentication failed."""
        raise NotImplementedError
