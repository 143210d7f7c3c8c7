"""Sends requests, and turns refusals into exceptions."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from types import TracebackType
from typing import Any
from urllib.parse import quote

import httpx

from ._operations import AsyncOperations, Operations

DEFAULT_URL = "http://127.0.0.1:8787"


class Problem(Exception):
    """The server refused a request. The text says what happened and what to do."""

    def __init__(self, status: int, document: Mapping[str, Any]) -> None:
        self.status = status
        self.title: str = document.get("title", "Error")
        self.detail: str = document.get("detail", "")
        #: The memory as it is now, if another change came first.
        self.current: Mapping[str, Any] | None = document.get("current")
        super().__init__(f"{status} {self.title}: {self.detail}")


class Unreachable(Exception):
    """No answer came from the server."""


class _Requests:
    """What both clients send."""

    def __init__(self, url: str | None, token: str | None, namespace: str | None) -> None:
        self._url = (url or os.environ.get("AFTERTHOUGHT_URL") or DEFAULT_URL).rstrip("/")
        token = token or os.environ.get("AFTERTHOUGHT_TOKEN")
        if not token:
            raise ValueError(
                "no token; pass token=..., or set AFTERTHOUGHT_TOKEN to the token of `afterthought serve http`"
            )
        self._headers = {"Authorization": f"Bearer {token}"}
        self._namespace = namespace

    def request(
        self,
        verb: str,
        path: str,
        in_path: Mapping[str, str],
        query: Mapping[str, Any],
        headers: Mapping[str, str | None],
        body: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Returns the arguments of an httpx request. Arguments that are None are left out."""
        for name, value in in_path.items():
            path = path.replace("{" + name + "}", quote(value, safe=""))
        asked = {**query, "namespace": query.get("namespace") or self._namespace}
        parameters: list[tuple[str, str]] = []
        for name, value in asked.items():
            values = value if isinstance(value, (list, tuple)) else [value]
            parameters += [(name, _spelled(one)) for one in values if one is not None]
        request: dict[str, Any] = {
            "method": verb,
            "url": f"{self._url}/api/v1{path}",
            "params": parameters,
            "headers": self._headers | {name: value for name, value in headers.items() if value is not None},
        }
        if body is not None:
            request["json"] = {name: value for name, value in body.items() if value is not None}
        return request


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(response: httpx.Response) -> Any:
    if response.is_success:
        return response.json()
    try:
        document = response.json()
    except ValueError:
        document = {"title": response.reason_phrase, "detail": response.text[:500]}
    raise Problem(response.status_code, document)


def _unreachable(error: httpx.TransportError, url: str) -> Unreachable:
    return Unreachable(f"no answer from {url}: {error}; is `afterthought serve http` running?")


class Client(Operations):
    """A connection to `afterthought serve http`.

    Args:
        url: Address of the server; AFTERTHOUGHT_URL or http://127.0.0.1:8787 by default.
        token: Token of the server; AFTERTHOUGHT_TOKEN by default.
        namespace: Namespace of all requests that name no other.
        timeout: Seconds to wait for an answer.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        namespace: str | None = None,
        timeout: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._requests = _Requests(url, token, namespace)
        self._http = httpx.Client(timeout=timeout, transport=transport)

    def _call(self, *request: Any) -> Any:
        try:
            return _read(self._http.request(**self._requests.request(*request)))
        except httpx.TransportError as error:
            raise _unreachable(error, self._requests._url) from error

    def _lines(self, *request: Any) -> Iterator[Any]:
        with self._http.stream(**self._requests.request(*request)) as response:
            if not response.is_success:
                response.read()
                _read(response)
            for line in response.iter_lines():
                yield json.loads(line)

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(AsyncOperations):
    """As `Client`, for asyncio."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        namespace: str | None = None,
        timeout: float = 60.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._requests = _Requests(url, token, namespace)
        self._http = httpx.AsyncClient(timeout=timeout, transport=transport)

    async def _call(self, *request: Any) -> Any:
        try:
            return _read(await self._http.request(**self._requests.request(*request)))
        except httpx.TransportError as error:
            raise _unreachable(error, self._requests._url) from error

    async def _lines(self, *request: Any) -> AsyncIterator[Any]:
        async with self._http.stream(**self._requests.request(*request)) as response:
            if not response.is_success:
                await response.aread()
                _read(response)
            async for line in response.aiter_lines():
                yield json.loads(line)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
