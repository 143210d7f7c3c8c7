"""A session of the OpenAI Agents SDK that starts with what is known and can learn from the conversation.

The history itself is kept by another session, because afterthought keeps what is worth remembering, not every item.
"""

from __future__ import annotations

from typing import Any

from agents import SQLiteSession
from agents.items import TResponseInputItem
from agents.memory import Session, SessionABC

from . import models
from ._client import AsyncClient


class MemorySession(SessionABC):
    """A session with memory.

    Args:
        session_id: Identity of the conversation.
        client: Connection to `afterthought serve http`.
        history: Session that keeps the items; an SQLiteSession in memory by default.
        brief: Whether the conversation starts with a brief of stored memories, marked as data.
    """

    def __init__(
        self,
        session_id: str,
        client: AsyncClient | None = None,
        *,
        history: Session | None = None,
        brief: bool = True,
    ) -> None:
        self.session_id = session_id
        self._client = client or AsyncClient()
        self._history: Session = history or SQLiteSession(session_id)
        self._wants_brief = brief
        self._brief: str | None = None

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns the brief, followed by the history; at most `limit` items in all."""
        if limit is not None and limit <= 0:
            return []
        if self._wants_brief and self._brief is None:
            # The brief stays the same during the conversation, so that prompts can be cached.
            self._brief = (await self._client.brief())["text"]
        if not self._brief or not self._wants_brief:
            return await self._history.get_items(limit)
        rest = None if limit is None else limit - 1
        items = [] if rest == 0 else await self._history.get_items(rest)
        brief: TResponseInputItem = {"role": "user", "content": self._brief}
        return [brief, *items]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items to the history."""
        await self._history.add_items(items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the latest item of the history, and returns it."""
        return await self._history.pop_item()

    async def clear_session(self) -> None:
        """Removes the history. Memories stay; undo their run to remove them."""
        await self._history.clear_session()

    async def learn(self) -> models.ExtractionOutcome:
        """Extracts memories from the history. Messages that were read before are not read again.

        The server must have been started with `--owner`.
        """
        messages = [message for item in await self._history.get_items() if (message := _message(item))]
        return await self._client.extract_conversation(messages=messages, conversation_id=self.session_id)


def _message(item: Any) -> dict[str, str] | None:
    """Returns an item that has words of the user or the assistant as a message."""
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant") or not content:
        return None
    if not isinstance(content, str):
        content = "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return {"role": role, "content": content} if content.strip() else None
