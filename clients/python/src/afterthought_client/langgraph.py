"""A LangGraph store whose items are memories.

Each item is a memory: its content is a JSON document with the namespace, the key and the value, so it can be searched,
reviewed and undone like any other. What differs from LangGraph's own stores is in the README.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from ._client import Client
from ._keys import Texts, digest

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, other: value == other,
    "$ne": lambda value, other: value != other,
    "$gt": lambda value, other: float(value) > float(other),
    "$gte": lambda value, other: float(value) >= float(other),
    "$lt": lambda value, other: float(value) < float(other),
    "$lte": lambda value, other: float(value) <= float(other),
}


class AfterthoughtStore(BaseStore):
    """Stores items with `afterthought serve http`."""

    def __init__(self, client: Client | None = None) -> None:
        self._texts = Texts(client or Client(), "langgraph")

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Executes operations in order."""
        return [self._done(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Executes operations in order, on a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _done(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            memory = self._texts.get(digest(op.namespace, op.key))
            return _item(memory) if memory else None
        if isinstance(op, PutOp):
            self._put(op)
            return None
        if isinstance(op, SearchOp):
            return list(self._search(op))
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ValueError(f"unknown operation {type(op).__name__}")

    def _put(self, op: PutOp) -> None:
        key = digest(op.namespace, op.key)
        if op.value is None:
            self._texts.delete(key)
            return
        document = {"namespace": list(op.namespace), "key": op.key, "value": op.value}
        tags = [_tag(op.namespace[:length]) for length in range(1, len(op.namespace) + 1)]
        subject = "/".join(op.namespace)
        self._texts.put(key, json.dumps(document, ensure_ascii=False), tags, subject)

    def _search(self, op: SearchOp) -> Iterator[SearchItem]:
        tags = [_tag(op.namespace_prefix)] if op.namespace_prefix else []
        found = self._texts.found(op.query, tags) if op.query else self._texts.listed(tags)
        seen = 0
        for memory in found:
            item = _item(memory)
            if op.filter and not all(_matches(item.value.get(name), wanted) for name, wanted in op.filter.items()):
                continue
            seen += 1
            if seen <= op.offset:
                continue
            if seen > op.offset + op.limit:
                return
            yield SearchItem(
                item.namespace, item.key, item.value, item.created_at, item.updated_at, memory.get("score")
            )

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {_item(memory).namespace for memory in self._texts.listed([])}
        conditions = op.match_conditions or ()
        kept = {namespace for namespace in found if all(_meets(namespace, one) for one in conditions)}
        cut = sorted({namespace[: op.max_depth] for namespace in kept})
        return cut[op.offset : op.offset + op.limit]


def _tag(namespace: tuple[str, ...]) -> str:
    return f"langgraph:{digest(list(namespace))}"


def _item(memory: dict[str, Any]) -> Item:
    document = json.loads(memory["content"])
    return Item(
        value=document["value"],
        key=document["key"],
        namespace=tuple(document["namespace"]),
        created_at=_time(memory["created_at"]),
        updated_at=_time(memory["updated_at"]),
    )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _matches(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict) and any(name.startswith("$") for name in wanted):
        unknown = [name for name in wanted if name not in _COMPARISONS]
        if unknown:
            raise ValueError(f"unknown operator {unknown[0]}; use one of {', '.join(_COMPARISONS)}")
        return all(value is not None and _COMPARISONS[name](value, other) for name, other in wanted.items())
    return bool(value == wanted)


def _meets(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", name) for name, wanted in zip(part, path))
