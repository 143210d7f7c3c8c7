// Tests of the client against a running server, whose address and token are in the environment.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Problem, connect, exported } from "../dist/index.js";

const json = { "Content-Type": "application/json" };

test("a memory goes through its life", async () => {
  const client = connect({ namespace: "project/ts-life" });
  const body = { category: "fact", subject: "tea", content: "Ana drinks green tea, 绿茶 🍵.", tags: ["a", "b"] };
  const stored = await client.POST("/memories", { body });
  assert.equal(stored.data.decision, "add");
  const id = stored.data.memory.id;
  const path = { id };
  const found = await client.GET("/search", { params: { query: { query: "绿茶", tags: ["a", "b"] } } });
  assert.deepEqual(found.data.memories.map((memory) => memory.id), [id]);
  const seen = await client.GET("/memories/{id}", { params: { path } });
  const header = { "If-Match": seen.data.version };
  const changed = await client.PATCH("/memories/{id}", { params: { path, header }, body: { importance: 0.9 } });
  assert.equal(changed.data.memory.importance, 0.9);
  await assert.rejects(
    client.PATCH("/memories/{id}", { params: { path, header }, body: { importance: 0.1 } }),
    (problem) => problem instanceof Problem && problem.status === 412 && problem.current.importance === 0.9,
  );
  await client.DELETE("/memories/{id}", { params: { path } });
  assert.equal((await client.GET("/memories")).data.total, 0);
  await client.POST("/memories/{id}/restore", { params: { path } });
  const lines = [];
  for await (const line of exported(client)) {
    lines.push(line.id);
  }
  assert.deepEqual(lines, [id]);
});

test("a key may have any characters", async () => {
  const client = connect({ namespace: "project/ts-keys" });
  const key = "users/42 ü?&#%";
  const content = "Bo plays <b>chess</b>.";
  await client.PUT("/keys/{key}", { params: { path: { key } }, body: { content } });
  const read = await client.GET("/keys/{key}", { params: { path: { key }, query: { exact: true } } });
  assert.equal(read.data.memory.content, content);
});

test("refusals say what to do", async () => {
  const client = connect();
  const path = { id: "ffffffff-0000" };
  await assert.rejects(client.GET("/memories/{id}", { params: { path } }), /404 Not Found: no memory has an id like/);
  const body = { category: "nonsense", subject: "x", content: "Bo sings." };
  await assert.rejects(client.POST("/memories", { body, headers: json }), /422 .* is not a category/);
  await assert.rejects(connect({ token: "wrong" }).GET("/status"), (problem) => problem.status === 401);
});
