"""A schema registry by HTTP: Confluent's API, which Karapace and Apicurio have, too, and Apicurio's own.

Each schema is requested once, when a payload first names it. Failures are remembered, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar
from urllib.parse import quote

import urllib3

from kcli.client.web_address import WebAddress, reason_of
from kcli.errors import InputError, NetworkError, UsageError, unreadable
from kcli.java_properties import parse_file
from kcli.jsontext import loads
from kcli.payloads.entries import is_entry, native_references, schema_of
from kcli.payloads.framing import SchemaId
from kcli.payloads.schema import LONGEST, PayloadError, Schema
from kcli.payloads.schema_files import type_of_text

T = TypeVar("T")
MOST_ASKED = 2000  # the most requests in a run
LARGEST = 4 * LONGEST  # bytes of a response
SECONDS = 10  # seconds for which the registry may send nothing
WHOLE_SECONDS = 45  # for a response, with all retries
REDIRECTS = 3
NATIVE = re.compile(r"/apis/registry/v(\d)/?$")  # Apicurio's own API
ACCEPT = "application/vnd.schemaregistry.v1+json, application/json, */*"
URL = "schema.registry.url"
USE_ID = "apicurio.registry.use-id"  # which of Apicurio's ids precedes payloads; its serdes have the same property
PROPERTIES = {
    "basic.auth.user.info", "basic.auth.credentials.source", "bearer.auth.token", "bearer.auth.credentials.source",
    "ssl.ca.location", "ssl.certificate.location", "ssl.key.location", URL, USE_ID,
}  # fmt: skip


def properties(texts: tuple[str, ...]) -> dict[str, str]:
    """Return {name: value} of properties from files and from "KEY=VALUE". Raises UsageError, InputError."""
    found: dict[str, str] = {}
    for each in texts:
        name, equals, value = each.partition("=")
        if equals and not Path(each).exists():
            found[name.strip()] = value.strip()
            continue
        try:
            found |= {name: value for name, value, _ in parse_file(Path(each))}
        except OSError as error:
            raise unreadable(error, each) from None
    found = {
        name.removeprefix("schema.registry.") if "auth" in name or "ssl" in name else name: value
        for name, value in found.items()
    }
    if unknown := sorted(found.keys() - PROPERTIES):
        raise UsageError(f"--registry-config: no property {unknown[0]!r} ({', '.join(sorted(PROPERTIES))})")
    return found


class Registry:
    """A registry. failure: the error after which no more requests are sent; None without one."""

    def __init__(self, url: str | None, settings: tuple[str, ...] = ()) -> None:
        """Prepare the connections. settings: properties. Raises UsageError without a URL."""
        config = properties(settings)
        self.arguments = url, tuple(f"{name}={value}" for name, value in config.items())
        address = WebAddress.parse((url or config.get(URL) or "").rstrip("/"), "--schema-registry")
        self.url = address.shown
        self.native = NATIVE.search(address.path)
        self.newer = self.native is not None and int(self.native[1]) >= 3
        self.number = config.get(USE_ID, "contentId" if self.newer else "globalId")
        if self.number not in ("contentId", "globalId") or (USE_ID in config and self.native is None):
            raise UsageError(
                f"--registry-config {USE_ID}: globalId or contentId, of Apicurio's own API (.../apis/registry/v3)"
            )
        self.failure: NetworkError | None = None
        self.requests = 0
        self.headers = {"Accept": ACCEPT} | authorization(config, address.user)
        tls = {"ca_certs": "ssl.ca.location", "cert_file": "ssl.certificate.location", "key_file": "ssl.key.location"}
        self.pool = urllib3.PoolManager(
            timeout=urllib3.Timeout(SECONDS, connect=SECONDS, read=SECONDS),
            retries=urllib3.Retry(2, redirect=REDIRECTS, status=1, status_forcelist=(429, 503), backoff_factor=0.2),
            **{name: config[key] for name, key in tls.items() if key in config},  # type: ignore[arg-type]
        )

    def __reduce__(self) -> tuple[type[Registry], tuple[str | None, tuple[str, ...]]]:
        """Let another process use the registry, by connections of its own."""
        return type(self), self.arguments

    def find(self, schema: SchemaId) -> Schema | None:
        """Return the schema with this id; None if the registry does not have it. Raises PayloadError."""
        if self.native:
            return self.native_schema(schema)
        if schema.type == "globalId":
            raise PayloadError("a globalId, which Apicurio's own API knows (.../apis/registry/v3), not Confluent's")
        kind = "guids" if schema.type == "guid" else "ids"
        found: Any = self.json(f"/schemas/{kind}/{schema.value}")
        if found is None:
            return None
        if not is_entry(found):
            raise PayloadError("the registry's answer holds no schema")
        return schema_of(found, self.version)

    def version(self, subject: str, version: int) -> Any:
        """Return a version of a subject, -1 for the newest, as an entry; None if it does not exist."""
        return self.json(f"/subjects/{quote(subject, safe='')}/versions/{version if version >= 0 else 'latest'}")

    def native_schema(self, schema: SchemaId) -> Schema | None:
        """Return a schema by Apicurio's own API. An id without a kind is a contentId in version 3, a globalId
        before.
        """
        kind = schema.type if schema.type != "schemaId" else self.number
        path = f"/ids/{kind}s/{schema.value}"
        entry = self.artifact(path, path)
        if entry is None:
            return None

        def find(subject: str, _version: int) -> Any:
            return self.artifact(f"{subject}/content" if self.newer else subject, subject)

        return schema_of(entry, find)

    def artifact(self, content: str, about: str) -> dict[str, Any] | None:
        """Return the schema at a path as an entry, whose references have paths as subjects; None if there is none."""
        if (answer := self.get(content)) is None:
            return None
        text, headers = answer
        references = native_references(self.json(f"{about}/references"))
        kind = type_of_text(text, str(headers.get("X-Registry-ArtifactType") or ""))
        return {"schema": text, "references": references, "schemaType": kind}

    def json(self, path: str) -> Any:
        """Return the JSON of a response; None for 404. Raises PayloadError."""
        answer = self.get(path)
        if answer is None:
            return None
        try:
            return loads(answer[0])
        except InputError as error:
            raise PayloadError(f"the registry's answer is {error.text}") from None

    def get(self, path: str) -> tuple[str, Any] | None:
        """Return the text and headers of a response; None for 404. Raises PayloadError."""
        if self.failure is not None:
            raise PayloadError(self.failure.args[0])
        if self.requests >= MOST_ASKED:
            raise PayloadError(f"more than {MOST_ASKED:,} questions to the registry")
        self.requests += 1
        try:
            answer, data = in_time(lambda: self.answer(path))
        except TimeoutError:
            raise self.fail(f"took more than {WHOLE_SECONDS} s over one answer") from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self.fail(f"can't be reached: {reason_of(error)}") from None
        if answer.status == 404:
            return None
        if answer.status in (401, 403):
            raise self.fail(f"refuses: {answer.status} (--registry-config basic.auth.user.info or bearer.auth.token)")
        if answer.status != 200:
            raise PayloadError(f"the registry answers {path} with {answer.status}")
        if len(data) > LARGEST:
            raise PayloadError(f"the registry's answer has more than {LARGEST >> 20} MiB")
        return data.decode("utf-8", "replace"), answer.headers

    def answer(self, path: str) -> tuple[urllib3.BaseHTTPResponse, bytes]:
        """Return a response, and its first LARGEST + 1 bytes."""
        answer = self.pool.request("GET", self.url + path, headers=self.headers, preload_content=False)
        try:
            return answer, answer.read(LARGEST + 1, decode_content=True)
        finally:
            answer.release_conn()
            answer.close()

    def fail(self, text: str) -> PayloadError:
        """Send no more requests, and return the error for the payload."""
        self.failure = NetworkError(f"the registry at {self.url} {text}")
        return PayloadError(self.failure.args[0])


def in_time(call: Callable[[], T]) -> T:
    """Return the result of a call, or raise its error. Raises TimeoutError if it takes longer than WHOLE_SECONDS: a
    socket's time-out begins again with each byte, so that a slow response could take for ever.
    """
    found: Future[T] = Future()

    def work() -> None:
        try:
            found.set_result(call())
        except BaseException as error:  # noqa: BLE001  # it is raised where the call was made
            found.set_exception(error)

    Thread(target=work, daemon=True, name="kcli-registry").start()
    return found.result(WHOLE_SECONDS)


def authorization(config: dict[str, str], user: str) -> dict[str, str]:
    """Return the Authorization header; {} without credentials. user: from the URL."""
    if token := config.get("bearer.auth.token"):
        return {"Authorization": f"Bearer {token}"}
    if user_info := config.get("basic.auth.user.info") or user:
        return urllib3.make_headers(basic_auth=user_info)
    return {}
