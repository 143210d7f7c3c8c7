"""A model on this machine that speaks Anthropic's messages and OpenAI's responses, as Claude Code and Codex call them.

It answers a request for structured output with one memory, calls the tool that recalls memories if it is offered one,
and otherwise repeats the result of the tool.
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

QUOTE = "we deploy with Nomad"
MEMORY = {
    "messages": [1], "quote": QUOTE, "category": "decision", "content": "The project deploys with Nomad.", "tags": [],
    "importance": 7, "more": [{"key": "project.deployment", "value": "Nomad"}],
}
EXTRACTED = {"memories": [MEMORY]}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_HEAD(self):
        self.reply("application/json", "{}")

    def do_GET(self):
        self.reply("application/json", json.dumps({"object": "list", "data": [], "models": []}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or "{}")
        path = self.path.split("?")[0]
        if path.endswith("/messages"):
            self.messages(body)
        elif path.endswith("/responses"):
            self.responses_of(body)
        else:
            self.reply("application/json", json.dumps({"input_tokens": 10}))

    def messages(self, body):
        names = [tool["name"] for tool in body.get("tools", [])]
        recall = next((name for name in names if name.endswith("__memory_recall")), None)
        content = body["messages"][-1]["content"]
        results = [part for part in content if isinstance(part, dict) and part.get("type") == "tool_result"]
        if results:
            block = {"type": "text", "text": "The tool says: " + json.dumps(results)}
        elif "StructuredOutput" in names:
            block = {"type": "tool_use", "id": "toolu_1", "name": "StructuredOutput", "input": EXTRACTED}
        elif recall:
            block = {"type": "tool_use", "id": "toolu_1", "name": recall, "input": {"query": "deploy"}}
        else:
            block = {"type": "text", "text": json.dumps(EXTRACTED)}
        stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
        usage = {"input_tokens": 50, "output_tokens": 30}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "usage": usage}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None}
        if not body.get("stream"):
            self.reply("application/json", json.dumps(message | {"content": [block], "stop_reason": stop}))
            return
        if block["type"] == "text":
            start, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        self.stream(
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        )

    def responses_of(self, body):
        tools = [(tool.get("name"), inner.get("name")) for tool in body.get("tools", []) for inner in tool.get("tools", [])]
        recall = next((pair for pair in tools if pair[1] == "memory_recall"), None)
        results = [part for part in body.get("input", []) if str(part.get("type")).endswith("_output")]
        if (body.get("text") or {}).get("format"):
            said = json.dumps(EXTRACTED)
        else:
            said = "The tool says: " + json.dumps(results)
        item = {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": said}]}
        if recall and not results:
            item = {"type": "function_call", "id": "f1", "call_id": "c1", "namespace": recall[0], "name": recall[1]}
            item["arguments"] = json.dumps({"query": "deploy"})
        usage = {"input_tokens": 50, "output_tokens": 30, "total_tokens": 80}
        response = {"id": "r1", "object": "response", "model": body["model"], "status": "completed", "usage": usage}
        self.stream(
            {"type": "response.created", "response": response | {"status": "in_progress", "output": []}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": response | {"output": [item]}},
        )

    def stream(self, *events):
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self.reply("text/event-stream", text)

    def reply(self, kind, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def start():
    """Starts the model and returns its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
