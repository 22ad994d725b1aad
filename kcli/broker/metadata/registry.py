"""Routes of requests: the versions of each API that this broker serves (`kcli.broker.apis`), and their handlers.

APIs and versions that only a dialect defines are served, too: a new version of an API by the API's handler, a new API
by responses with default values. Rules that answer requests (`mock_rules`) come first.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from kcli.broker.api_version import ApiVersion
from kcli.broker.apis import APIS, DRAFTS, Implemented
from kcli.broker.request import AnswerRules, Handler
from kcli.broker.response import HangUpError
from kcli.errors import SchemaError
from kcli.schemas.apikeys import API_VERSIONS
from kcli.schemas.catalog import catalog
from kcli.schemas.model import Field
from kcli.schemas.ranges import NONE, Range


class Route(NamedTuple):
    """The route of a request: its API in one version, and the handler."""

    api: ApiVersion
    handle: Handler


@lru_cache(maxsize=1024)
def route(
    api_key: int, version: int, dialect: str | None, release: str | None, answers: AnswerRules | None = None
) -> Route:
    """Return the route of a request. Raises HangUpError if the broker lacks the API or version, as Kafka closes the
    connection then. ApiVersions has a route in any version.

    release: serve only the versions of that Kafka release's brokers. answers: rules that come first.
    """
    versions = offered(dialect, release, answers).get(api_key)
    if versions is not None and version in versions:
        handle = handler_of(api_key, version, dialect)
        try:
            api = ApiVersion(api_key, version, dialect)
            return Route(api, handle if answers is None else answers.before(api_key, version, handle))
        except SchemaError as error:
            raise HangUpError(str(error)) from None
    if api_key == API_VERSIONS:
        return Route(ApiVersion(api_key, version, dialect, known=False), APIS[api_key].handle)
    if versions is None:
        raise HangUpError(f"unsupported API key {api_key}")
    raise HangUpError(f"{catalog(dialect).known(api_key).name} v{version}: this broker has v{versions}")


@lru_cache(maxsize=32)
def offered(dialect: str | None, release: str | None, answers: AnswerRules | None = None) -> Mapping[int, Range]:
    """Return the served versions by API key: those that are implemented or that rules answer, limited to those of a
    release's brokers, plus those that only the dialect defines.
    """
    tables = catalog(dialect)
    ruled = (tables.api(key) for key in (answers.apis if answers is not None else ()))
    made = {api.key: api.versions for api in ruled if api is not None}
    made |= {key: each.versions for key, each in APIS.items()}
    if release is not None:
        theirs = catalog(None).release_versions(release)
        common = {key: ours & theirs[key] for key, ours in made.items() if key in theirs}
        made = {key: each for key, each in common.items() if each}
    # Draft APIs that have handlers.
    drafts = [(key, each) for key, some in DRAFTS.items() if key not in APIS for each in some]
    made |= {key: each.versions for key, each in drafts if draft_of(key, each.versions.lo, dialect) is each}
    for key, versions in tables.drafted.items():
        api = tables.api(key)
        if api is not None and (spoken := versions & api.versions):
            made[key] = extended(made.get(key, NONE), spoken)
    return made


def extended(mine: Range, drafted: Range) -> Range:
    """Extend versions by those of a draft if they are adjacent, as ApiVersions has one range per API."""
    if not mine or drafted.lo > mine.hi + 1:
        return mine or drafted
    return Range(mine.lo, max(mine.hi, drafted.hi))


def handler_of(api_key: int, version: int, dialect: str | None) -> Handler:
    draft = draft_of(api_key, version, dialect)
    if draft is not None:
        return draft.handle
    known = api_key in APIS
    if known and version not in catalog(dialect).drafted.get(api_key, NONE):
        return APIS[api_key].handle
    from kcli.broker.mock_rules import default_answer, guarded  # imported here, as few brokers have a draft

    return guarded(APIS[api_key].handle) if known else default_answer


def draft_of(api_key: int, version: int, dialect: str | None) -> Implemented | None:
    """Return the draft's handler that serves this version in this dialect, if any."""
    api = catalog(dialect).api(api_key) if dialect is not None and api_key in DRAFTS else None
    if api is None:
        return None
    fields = catalog(dialect).message(api.response).fields
    found = (each for each in DRAFTS[api_key] if version in each.versions and has_field(fields, each.field, version))
    return next(found, None)


def has_field(fields: Iterable[Field], name: str, version: int) -> bool:
    """Return whether a message has a field of this name in this version, at any depth."""
    present = (each for each in fields if version in each.versions or version in each.tagged)
    return any(each.name == name or has_field(each.fields, name, version) for each in present)
