"""Texts that an adapter stores under keys of its own, exactly as they are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from ._client import Client, Problem


def digest(*parts: Any) -> str:
    """Returns a key or tag for parts of any spelling. Keys are compared without case and punctuation, so they cannot
    contain the parts themselves."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()[:32]


class NotStored(Exception):
    """A text was not stored: it waits for the decision of a person."""


class Texts:
    """Texts of one adapter, each under a key, with the adapter's tag."""

    def __init__(self, client: Client, kind: str) -> None:
        self._client, self._kind = client, kind

    def get(self, key: str) -> dict[str, Any] | None:
        """Returns the memory with a key."""
        try:
            return dict(self._client.get_key(key=f"{self._kind}:{key}", exact=True)["memory"])
        except Problem as problem:
            if problem.status == 404:
                return None
            raise

    def put(self, key: str, text: str, tags: list[str], subject: str) -> None:
        """Stores a text under a key."""
        stored = self._client.put_key(
            key=f"{self._kind}:{key}",
            content=text,
            tags=[self._kind, *tags],
            subject=subject[:200],
            source=f"afterthought-client:{self._kind}",
            exact=True,
        )["memory"]
        if stored["status"] != "active":
            raise NotStored(
                "the text reads like an instruction, so it waits in the inbox of afterthought; state a fact instead"
            )

    def delete(self, key: str) -> bool:
        """Forgets the memory with a key, and returns whether there was one."""
        try:
            self._client.delete_key(key=f"{self._kind}:{key}")
            return True
        except Problem as problem:
            if problem.status == 404:
                return False
            raise

    def listed(self, tags: list[str]) -> Iterator[dict[str, Any]]:
        """Yields the memories with these tags, in the order in which they were first stored."""
        offset: int | None = 0
        while offset is not None:
            page = self._client.list_memories(
                tags=[self._kind, *tags], sort="id", limit=200, offset=offset, exact=True
            )
            yield from (dict(memory) for memory in page["memories"])
            offset = page.get("next_offset")

    def found(self, query: str, tags: list[str]) -> Iterator[dict[str, Any]]:
        """Yields the memories that match a query, best first."""
        offset: int | None = 0
        while offset is not None:
            page = self._client.search(query=query, tags=[self._kind, *tags], limit=200, offset=offset, exact=True)
            yield from (dict(memory) for memory in page["memories"])
            offset = page.get("next_offset")
