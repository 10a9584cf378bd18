"""The OpenAPI description of the JSON interface."""

from __future__ import annotations

from typing import Any

import cmab
from cmab.campaign.tables import TABLES

_TEXT, _NUMBER, _WHOLE, _FLAG = (
    {"type": "string"}, {"type": "number"}, {"type": "integer"}, {"type": "boolean"},
)  # fmt: skip
_NAMES = {"type": "array", "items": _TEXT}


def _or_null(kind: dict[str, Any]) -> dict[str, Any]:
    return {**kind, "type": [kind["type"], "null"]}


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties] if required is None else required,
    }


_ROUND = {
    "round": _WHOLE,
    "state": {"type": "string", "enum": ["waiting", "reported", "cancelled"]},
    "asked_at": {"type": "string", "format": "date-time"},
    "names": _NAMES,
    "count": _or_null(_NUMBER),
    "joined": {"type": ["object", "null"], "additionalProperties": {"type": ["integer", "null"]}},
    "reported_at": {"type": ["string", "null"], "format": "date-time"},
    "corrected": _FLAG,
    "author": _TEXT,
    "mark": {"type": "integer", "description": "Changes with each event of the round."},
}
_REASON = {
    "name": _TEXT, "mean": _NUMBER, "low": _NUMBER, "high": _NUMBER,
    "kind": {"type": "string", "enum": ["known", "explored"]}, "text": _TEXT,
}  # fmt: skip
_SUMMARY = {
    "id": _TEXT,
    "title": _TEXT,
    "kind": {"type": "string", "enum": ["network", "list"]},
    "k": _or_null(_WHOLE),
    "budget": _or_null(_NUMBER),
    "version": {"type": "integer", "description": "The number of events."},
    "rounds": _WHOLE,
    "waiting": {"type": "array", "items": _WHOLE},
}
_NEXT = _object({"names": _NAMES, "mean": _NUMBER, "low": _NUMBER, "high": _NUMBER})
#: A campaign whose files are damaged.
_BROKEN = _object({"id": _TEXT, "title": _TEXT, "error": _TEXT})
_CERTIFICATE = {"anyOf": [_object({"text": _TEXT, "gap": _NUMBER}), {"type": "null"}]}
SCHEMAS: dict[str, Any] = {
    "Campaign": _object(_SUMMARY),
    "Campaigns": _object({"campaigns": {"type": "array", "items": {"anyOf": [_object(_SUMMARY), _BROKEN]}}}),
    "State": _object({**_SUMMARY, "mean": _or_null(_NUMBER), "next": _NEXT, "certificate": _CERTIFICATE}),
    "Round": _object(_ROUND),
    "Rounds": _object({"rounds": {"type": "array", "items": _object(_ROUND)}}),
    "Choice": _object({**_ROUND, "version": _WHOLE, "reasons": {"type": "array", "items": _object(_REASON)}}),
    "Undone": _object({"line": _WHOLE, "round": _WHOLE}),
    "Table": _object({"rows": {"type": "array", "items": {"type": "object"}}}),
    "Key": _object({"key": _TEXT}),
    "Error": _object({"error": _TEXT}),
    "NewCampaign": _object(
        {
            "title": _TEXT,
            "network": {"type": "string", "description": "The text of the file of a network."},
            "network_file": {"type": "string", "description": "Its name; the ending tells the format."},
            "directed": _FLAG,
            "names": {"type": "string", "description": "The names, one a line."},
            "k": _WHOLE,
            "costs": {"type": "string", "description": "A table with the columns name and cost."},
            "budget": _NUMBER,
            "never": _NAMES,
            "prior_mean": _NUMBER,
            "prior_weight": _NUMBER,
            "largest": _NUMBER,
        },
        ["title"],
    ),
    "NewRound": _object({"version": _WHOLE, "without": _NAMES, "instead_of": _WHOLE}, ["version"]),
    "Report": _object(
        {
            "mark": {"type": "integer", "description": "The mark of the round, as last read."},
            "joined": {
                "description": "Who joined: a list of names, or an object with the step of each.",
                "anyOf": [_NAMES, {"type": "object", "additionalProperties": {"type": ["integer", "null"]}}],
            },
            "results": {"type": "object", "description": "The result of each item, for a list of items."},
            "count": {"type": "number", "description": "Only how many joined, with those who were asked."},
            "unknown": {**_NAMES, "description": "Names of which the result is not known."},
        },
        ["mark"],
    ),
    "Mark": _object({"mark": _WHOLE}),
    "Version": _object({"version": _WHOLE}),
    "Login": _object({"user": _TEXT, "password": _TEXT}),
}
#: The operations: method, path, role, handler, schema of the body, schema and status of the answer, summary.
OPERATIONS: list[tuple[str, str, str | None, str, str | None, str, int, str]] = [
    ("post", "/login", None, "login", "Login", "Key", 200, "Begin a session of a user."),
    ("get", "/campaigns", "read", "campaigns", None, "Campaigns", 200, "List the campaigns."),
    ("post", "/campaigns", "decide", "create", "NewCampaign", "Campaign", 201, "Make a campaign."),
    ("get", "/campaigns/{slug}", "read", "campaign", None, "State", 200, "Show the state of a campaign."),
    ("get", "/campaigns/{slug}/rounds", "read", "rounds", None, "Rounds", 200, "List the rounds."),
    ("post", "/campaigns/{slug}/rounds", "decide", "choose", "NewRound", "Choice", 201, "Choose a round."),
    ("get", "/campaigns/{slug}/rounds/{number}", "read", "one_round", None, "Choice", 200, "Show a round."),
    ("post", "/campaigns/{slug}/rounds/{number}/report", "report", "report", "Report", "Round", 200,
     "Report a round, or correct its report."),
    ("post", "/campaigns/{slug}/rounds/{number}/cancel", "decide", "cancel", "Mark", "Round", 200,
     "Cancel a round."),
    ("post", "/campaigns/{slug}/undo", "decide", "undo", "Version", "Undone", 200,
     "Take back the last report, correction or cancellation."),
    ("get", "/campaigns/{slug}/tables/{table}", "read", "table", None, "Table", 200, "Return a table."),
]  # fmt: skip


def description() -> dict[str, Any]:
    """Return the OpenAPI description, version 3.1."""
    paths: dict[str, Any] = {}
    for method, path, role, handler, body, answer, status, summary in OPERATIONS:
        operation: dict[str, Any] = {
            "operationId": handler,
            "summary": summary,
            "parameters": _parameters(path),
            "responses": {
                str(status): {"description": "Done.", "content": _content(answer)},
                "default": {"description": "The request was refused.", "content": _content("Error")},
            },
        }
        if role is not None:
            operation |= {"security": [{"key": []}], "description": f"Needs the role {role}."}
        if body is not None:
            operation["requestBody"] = {"required": True, "content": _content(body)}
        paths.setdefault(path, {})[method] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "cmab campaigns", "version": cmab.__version__},
        "servers": [{"url": "/api/v1"}],
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token of the address, or the key that login returns.",
                }
            },
        },
    }


def _content(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def _parameters(path: str) -> list[dict[str, Any]]:
    kinds = {"slug": _TEXT, "number": _WHOLE, "table": {"type": "string", "enum": [*TABLES]}}
    return [
        {"name": name, "in": "path", "required": True, "schema": kind}
        for name, kind in kinds.items()
        if f"{{{name}}}" in path
    ]
