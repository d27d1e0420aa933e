"""How a reader wants to see objects: whole, as a table for people, or only their metadata."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from tests.kube.columns import cells_of, heads_of
from tests.kube.documents import Json
from tests.kube.kinds import Kind
from tests.kube.reads import Listing
from tests.kube.statuses import Refusal
from tests.kube.store import Stored

_META = "meta.k8s.io/v1"
_FORMS = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf")
_ANY = frozenset({*_FORMS, "*/*", "application/*", ""})


@dataclass(frozen=True)
class View:
    """`form` is '' for whole objects, 'Table' or 'PartialObjectMetadata'.

    `include` says what a row of a table has of its object: None, Metadata or Object.
    """

    form: str = ""
    include: str = "Metadata"

    @property
    def is_whole(self) -> bool:
        return not self.form


WHOLE = View()


def view_of(accept: str, include: str) -> View:
    """What a reader accepts.

    Raises:
        Refusal: 406 where that is nothing the server has.

    """
    clauses = [
        [part.strip() for part in clause.split(";")] for clause in accept.split(",") if clause
    ]
    known = [clause for clause in clauses if clause[0] in _ANY]
    if clauses and not known:
        listed = ", ".join((*_FORMS, *(f"{each};stream=watch" for each in (_FORMS[0], _FORMS[2]))))
        why = f"406: Not Acceptable\n\nAvailable representations: {listed}"
        raise Refusal(406, "NotAcceptable", why, {})
    for clause in known:
        wanted = dict(part.split("=", 1) for part in clause[1:] if "=" in part)
        form = wanted.get("as", "").removesuffix("List")
        if form in {"Table", "PartialObjectMetadata"} and wanted.get("v", "v1") == "v1":
            return View(form, include or "Metadata")
        if not form:
            return WHOLE
    return WHOLE


def metadata_of(stored: Stored) -> Json:
    head = {"kind": "PartialObjectMetadata", "apiVersion": _META}
    return {**head, "metadata": stored.body["metadata"]}


def _row(stored: Stored, view: View, now: datetime) -> Json:
    row: Json = {"cells": cells_of(stored.kind, stored.body, now)}
    if view.include == "Metadata":
        row["object"] = metadata_of(stored)
    elif view.include == "Object":
        row["object"] = stored.document()
    return row


def _table(
    kind: Kind, items: list[Stored], metadata: Json, view: View, now: datetime, *, headed: bool
) -> Json:
    return {
        "kind": "Table",
        "apiVersion": _META,
        "metadata": metadata,
        "columnDefinitions": heads_of(kind) if headed else [],
        "rows": [_row(each, view, now) for each in items],
    }


def show_list(kind: Kind, listing: Listing, view: View, now: datetime) -> bytes:
    """The body of a list that is not wanted whole."""
    metadata: Json = {"resourceVersion": str(listing.version)}
    if listing.token:
        metadata["continue"] = listing.token
    if listing.remaining is not None:
        metadata["remainingItemCount"] = listing.remaining
    if view.form == "Table":
        made = _table(kind, listing.items, metadata, view, now, headed=True)
    else:
        head = {"kind": "PartialObjectMetadataList", "apiVersion": _META}
        made = {**head, "metadata": metadata, "items": list(map(metadata_of, listing.items))}
    return json.dumps(made).encode()


def show_one(stored: Stored, view: View, now: datetime, *, headed: bool = True) -> bytes:
    """The body of one object; `headed` is false for all but the first of a watch."""
    if view.is_whole:
        return stored.encoded_alone()
    if view.form != "Table":
        return json.dumps(metadata_of(stored)).encode()
    metadata = {"resourceVersion": stored.body["metadata"]["resourceVersion"]}
    return json.dumps(_table(stored.kind, [stored], metadata, view, now, headed=headed)).encode()
