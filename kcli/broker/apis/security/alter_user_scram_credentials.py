"""AlterUserScramCredentials v0 (KIP-554): a user with contradictory or invalid changes gets none of them."""

from collections.abc import Mapping
from typing import Any

from kcli.broker.request import Request
from kcli.broker.security.scram import ALGORITHMS, LEAST_ITERATIONS, MOST_ITERATIONS, credential_of
from kcli.broker.security.security_state import Row, scram_record
from kcli.records.acceptance import RefusedError

TWICE = "A user credential cannot be altered twice in the same request"


def handle(request: Request) -> dict[str, Any]:
    users = dict.fromkeys(each["name"] for each in (*request.body["deletions"], *request.body["upsertions"]))
    return {"results": [result(request, user) for user in users]}


def result(request: Request, user: str) -> dict[str, Any]:
    made = {"user": user, "errorMessage": None}
    if code := request.fault():
        return made | {"errorCode": code}
    try:
        request.metadata.secure(records(request, user))
    except RefusedError as refused:
        return made | refused.row()
    return made | {"errorCode": 0}


def records(request: Request, user: str) -> list[Row]:
    """Return the metadata records of a user's changes. Raises RefusedError if one of the changes is invalid."""
    rows: list[Row] = []
    for field, make in (("deletions", deletion), ("upsertions", upsertion)):
        for each in (one for one in request.body[field] if one["name"] == user):
            row = make(request, each)
            if rows:  # Kafka's ScramControlManager compares only names, not mechanisms
                raise RefusedError("DUPLICATE_RESOURCE", TWICE)
            rows.append(row)
    return rows


def deletion(request: Request, wanted: Mapping[str, Any]) -> Row:
    check(wanted)
    if (wanted["name"], wanted["mechanism"]) not in request.metadata.security.scram:
        raise RefusedError("RESOURCE_NOT_FOUND", "Attempt to delete a user credential that does not exist")
    return "RemoveUserScramCredentialRecord", 0, {name: wanted[name] for name in ("name", "mechanism")}


def upsertion(request: Request, wanted: Mapping[str, Any]) -> Row:
    check(wanted)
    iterations = wanted["iterations"]
    if iterations < LEAST_ITERATIONS:
        raise RefusedError("UNACCEPTABLE_CREDENTIAL", "Too few iterations")
    if iterations > MOST_ITERATIONS:
        raise RefusedError("UNACCEPTABLE_CREDENTIAL", "Too many iterations")
    made = credential_of(wanted["mechanism"], wanted["saltedPassword"], wanted["salt"], iterations)
    return scram_record(wanted["name"], wanted["mechanism"], made)


def check(wanted: Mapping[str, Any]) -> None:
    """Refuse an empty name and an unknown mechanism. Raises RefusedError."""
    if not wanted["name"]:
        raise RefusedError("UNACCEPTABLE_CREDENTIAL", "Username must not be empty")
    if wanted["mechanism"] not in ALGORITHMS:
        raise RefusedError("UNSUPPORTED_SASL_MECHANISM", "Unknown SCRAM mechanism")
