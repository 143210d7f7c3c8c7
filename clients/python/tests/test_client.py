"""Tests of the client against a running server, whose address and token are in the environment."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from afterthought_client import AsyncClient, Client, Problem, Unreachable
from openapi_spec_validator import OpenAPIV31SpecValidator

DOCUMENT = json.loads((Path(__file__).parents[2] / "openapi.json").read_text("utf-8"))


@pytest.fixture
def client(request):
    """A client with a namespace for each test."""
    with Client(namespace=f"project/{request.node.name.replace('_', '-')}") as client:
        yield client


def test_the_description_is_valid_and_is_the_one_that_the_server_has(client):
    assert list(OpenAPIV31SpecValidator(DOCUMENT).iter_errors()) == []
    broken = {**DOCUMENT, "info": {"title": 7}}
    assert list(OpenAPIV31SpecValidator(broken).iter_errors()) != []
    address = f"{os.environ['AFTERTHOUGHT_URL']}/api/v1/openapi.json"
    assert client._http.get(address, headers=client._requests._headers).json() == DOCUMENT


def test_the_generated_modules_are_up_to_date(tmp_path):
    import subprocess
    import sys

    package = Path(inspect.getfile(Client)).parent
    generator = Path(__file__).parents[1] / "generate.py"
    subprocess.run([sys.executable, str(generator), str(tmp_path)], check=True)
    for name in ("models.py", "_operations.py"):
        assert (tmp_path / name).read_text("utf-8") == (package / name).read_text("utf-8"), f"run {generator}"


def test_every_operation_has_a_method(client):
    names = {verb["operationId"] for verbs in DOCUMENT["paths"].values() for verb in verbs.values()}
    assert len(names) >= 29
    for name in names:
        assert callable(getattr(client, name)) and callable(getattr(AsyncClient, name))


def test_a_memory_goes_through_its_life(client):
    stored = client.remember(category="fact", subject="茶", content="Ana drinks green tea, 绿茶 🍵.", tags=["a", "b"])
    assert stored["decision"] == "add" and not stored["waits"]
    id = stored["memory"]["id"]
    assert client.search(query="绿茶", tags=["a", "b"])["memories"][0]["id"] == id
    assert client.search(query="绿茶", tags=["a", "c"])["count"] == 0
    seen = client.get_memory(id=id)
    changed = client.update_memory(id=id, importance=0.9, version=seen["version"])
    assert changed["memory"]["importance"] == 0.9
    with pytest.raises(Problem) as outdated:
        client.update_memory(id=id, importance=0.1, version=seen["version"])
    assert outdated.value.status == 412 and outdated.value.current["importance"] == 0.9
    assert len(client.memory_history(id=id)["changes"]) == 2
    assert client.forget_memory(id=id, reason="wrong")["count"] == 1
    assert client.list_memories()["total"] == 0
    assert client.restore_memory(id=id)["memory"]["status"] == "active"
    assert [line["id"] for line in client.export_memories()] == [id]
    assert client.status()["active"] == 1


def test_refusals_say_what_to_do(client):
    for call, status, part in [
        (lambda: client.get_memory(id="ffffffff-0000"), 404, "no memory has an id like"),
        (lambda: client.remember(category="nonsense", subject="x", content="Bo sings."), 422, "is not a category"),
        (lambda: client.put_key(key="k", content=""), 422, "no text to remember"),
        (lambda: client.put_key(key="k", content="x" * 9_000), 422, "at most 8000"),
        (lambda: client.put_key(key="k", content="x" * 1_100_000), 413, "1 MiB"),
        (lambda: client.remember(category="fact", subject="x", content="y", tags=7), 422, "/tags value is not of type"),
    ]:
        with pytest.raises(Problem) as refused:
            call()
        assert refused.value.status == status and part in refused.value.detail, refused.value
    with Client(token="wrong") as stranger, pytest.raises(Problem) as refused:
        stranger.status()
    assert refused.value.status == 401
    with pytest.raises(Problem) as refused:
        list(Client(token="wrong").export_memories())
    assert refused.value.status == 401
    with Client(url="http://127.0.0.1:9") as nobody, pytest.raises(Unreachable, match="is `afterthought serve http`"):
        nobody.status()


def test_a_conversation_is_learnt_and_undone(client):
    messages = [{"role": "user", "content": "I live in Lisbon and I prefer tabs over spaces."}]
    learnt = client.extract_conversation(messages=messages, conversation_id="lisbon")
    assert {memory["subject"] for memory in learnt["memories"]} == {"residence", "indentation"}
    evidence = client.memory_evidence(id=learnt["memories"][0]["id"])["evidence"]
    assert evidence[0]["quote"] in messages[0]["content"]
    assert "Lisbon" in client.brief(max_tokens=500)["text"]
    run = learnt["summary"]["run"]
    assert len(client.undo_run(id=run, dry_run=True)["removed"]) == 2
    assert client.list_memories()["total"] == 2
    client.undo_run(id=run)
    assert client.list_memories()["total"] == 0


def test_many_clients_write_at_once(client):
    def put(number: int) -> str:
        with Client(namespace=client._requests._namespace) as other:
            return other.put_key(key=f"slot-{number % 5}", content=f"Slot {number % 5} has number {number}.")["memory"]["id"]

    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(put, range(40)))
    assert len(ids) == 40
    assert client.list_memories()["total"] == 5


def test_the_asynchronous_client_does_the_same():
    async def run() -> None:
        async with AsyncClient(namespace="project/asynchronous") as client:
            await asyncio.gather(*(client.put_key(key=f"k{n}", content=f"Room {n} is warm.") for n in range(6)))
            assert (await client.list_memories())["total"] == 6
            assert len([line async for line in client.export_memories()]) == 6
            with pytest.raises(Problem):
                await client.get_key(key="none")

    asyncio.run(run())
