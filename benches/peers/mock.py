"""A model server on loopback that gives every system the same facts and counts tokens.

It speaks OpenAI's protocol. Its replies are derived from a LoCoMo conversation: a fact belongs to one message, and the
server states it once, in the first request that shows the message. See README.md.
"""

import argparse
import base64
import json
import re
import struct
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import tiktoken

DIMENSIONS = 1536
# A message that no observation cites states a fact of its own if it has this many words.
LEAST_WORDS = 12
# Two memories are about the same matter if they share this part of their words.
LEAST_SHARED = 0.34
MAX_QUOTE_WORDS = 25
WORD = re.compile(r"\w+")
TOKENS = tiktoken.get_encoding("o200k_base")


def tokens_of(value):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(TOKENS.encode(text, disallowed_special=()))


def words_of(text):
    return {word for word in WORD.findall(text.lower()) if len(word) > 3}


def plain(text):
    return " ".join(text.split())


def sessions_of(sample):
    """Returns the numbers of the sessions in order, each with its turns."""
    conversation = sample["conversation"]
    names = [re.fullmatch(r"session_(\d+)", name) for name in conversation]
    return [(number, conversation[f"session_{number}"]) for number in sorted(int(name[1]) for name in names if name)]


class Fact:
    """One statement about one message, with the words of the message that prove it."""

    def __init__(self, number, turn, text):
        self.number, self.speaker, self.text = number, turn["speaker"], text
        sentences = [one for one in re.split(r"(?<=[.!?])\s+", turn["text"]) if one]
        wanted = words_of(text)
        best = max(sentences, key=lambda one: (len(wanted & words_of(one)), -len(one)))
        self.quote = " ".join(best.split()[:MAX_QUOTE_WORDS])

    def tags(self):
        longest = sorted(words_of(self.text), key=lambda word: (-len(word), word))
        return longest[: 2 + self.number % 2]


def facts_of(samples):
    """Returns the facts of conversations by the text of their message."""
    facts = {}
    for sample in samples:
        add_facts(sample, facts)
    return facts


def add_facts(sample, facts):
    stated, count = {}, sum(map(len, facts.values()))
    for session in sample["observation"].values():
        for of_speaker in session.values():
            for text, turn in of_speaker:
                # The file cites some facts by several messages.
                stated.setdefault(turn if isinstance(turn, str) else turn[0], []).append(plain(text))
    for _, turns in sessions_of(sample):
        for turn in turns:
            texts = stated.get(turn["dia_id"], [])
            if not texts and len(turn["text"].split()) >= LEAST_WORDS:
                longest = max(re.split(r"(?<=[.!?])\s+", turn["text"]), key=len)
                texts = [f'{turn["speaker"]} said: "{plain(longest)}"']
            for text in texts:
                facts.setdefault(plain(turn["text"]), []).append(Fact(count, turn, text))
                count += 1


class Model:
    """Writes replies and counts what they cost."""

    def __init__(self, samples, delay_ms, per_token_ms):
        self.facts = facts_of(samples)
        self.delay_ms, self.per_token_ms = delay_ms, per_token_ms
        self.lock = threading.Lock()
        self.reset()

    def reset(self):
        self.given = set()
        self.usage = {"calls": 0, "prompt": 0, "completion": 0, "embeddings": 0, "facts": 0}

    def new_facts(self, text):
        """Returns the facts of the messages in `text` that no reply has stated."""
        text, found = plain(text), []
        with self.lock:
            for message, facts in self.facts.items():
                if message in text:
                    found += [fact for fact in facts if fact.number not in self.given]
            self.given.update(fact.number for fact in found)
            self.usage["facts"] += len(found)
        return found

    def complete(self, request):
        """Returns the message that answers a request for a chat completion, and its usage."""
        shown = "\n".join(content_of(message) for message in request["messages"])
        if request.get("tools"):
            message = self.tool_calls(request["tools"], shown)
        else:
            message = {"role": "assistant", "content": self.json_reply(request.get("response_format", {}), shown)}
        prompt = tokens_of(shown) + 4 * len(request["messages"])
        prompt += sum(tokens_of(request[name]) for name in ("tools", "response_format") if request.get(name))
        prompt += sum(tokens_of(one["tool_calls"]) for one in request["messages"] if one.get("tool_calls"))
        written = tokens_of(message.get("content") or "")
        for call in message.get("tool_calls", []):
            written += tokens_of(call["function"]["name"]) + tokens_of(call["function"]["arguments"])
        with self.lock:
            self.usage["calls"] += 1
            self.usage["prompt"] += prompt
            self.usage["completion"] += written
        usage = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
        wait_ms = self.per_token_ms * written if self.per_token_ms else self.delay_ms
        return message, usage, wait_ms / 1000

    def json_reply(self, form, shown):
        """Writes JSON in the form of the system that asks."""
        name = form.get("json_schema", {}).get("name", "")
        if "<questions>" in shown:
            return compact({"relations": relations(shown)})
        if "<groups>" in shown:
            groups = re.findall(r"^\[(\d+)\]$", shown, re.MULTILINE)
            empty = {"kind": "none", "title": "", "statement": ""}
            return compact({"patterns": [{"group": int(number), **empty} for number in groups]})
        if name == "memories":
            return compact({"memories": self.quoted_memories(shown)})
        facts = self.new_facts(shown)
        return compact({"memory": [
            {"id": str(number), "text": fact.text, "attributed_to": "user"} for number, fact in enumerate(facts)
        ]})

    def quoted_memories(self, shown):
        """Writes entries with the numbers of their messages, for the messages between the marks of a conversation."""
        entries = []
        for block in re.findall(r"<conversation>\n(.*?)\n</conversation>", shown, re.DOTALL):
            for line in re.split(r"\n(?=\[\d+\] )", block):
                number = re.match(r"\[(\d+)\] ", line)
                for fact in self.new_facts(line) if number else []:
                    entries.append(entry(fact, int(number[1])))
        return entries

    def tool_calls(self, tools, shown):
        """Calls the tool that stores a text once for each fact."""
        functions = [tool["function"] for tool in tools]
        storing = [one for one in functions if "content" in one["parameters"].get("properties", {})]
        facts = self.new_facts(shown) if storing else []
        if not facts:
            return {"role": "assistant", "content": "Nothing to store."}
        calls = [
            {
                "id": f"call_{fact.number}",
                "type": "function",
                "function": {"name": storing[0]["name"], "arguments": compact({"content": fact.text})},
            }
            for fact in facts
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}


def content_of(message):
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def entry(fact, message):
    """Returns a fact in the form of afterthought's reply, with one optional field."""
    title = {"title": " ".join(fact.text.split()[:6])}
    attribute = {"key": f"{fact.speaker.lower()}.{fact.tags()[0]}", "value": fact.tags()[-1]}
    optional = ({"audience": "user"}, title, {"audience": "user"}, attribute)
    return {
        "messages": [message],
        "quote": fact.quote,
        "category": "fact",
        "content": fact.text,
        "tags": fact.tags(),
        "importance": 4 + fact.number % 3,
        "more": [optional[fact.number % 4]],
    }


def relations(shown):
    """Names two memories as complementary if they share many words."""
    listed = shown.split("<memories>")[-1].split("</memories>")[0]
    memories = dict(re.findall(r"^(\d+)(?: \([^)]*\))?: (.*)$", listed, re.MULTILINE))
    words = {number: words_of(text.split(" (said as:")[0]) for number, text in memories.items()}
    named = []
    for new, old in re.findall(r"^(\d+): ([\d,]+)$", shown.split("<questions>")[-1], re.MULTILINE):
        for other in old.split(","):
            one, two = words.get(new, set()), words.get(other, set())
            if len(one & two) >= LEAST_SHARED * max(1, len(one | two)):
                named.append({"memory": int(new), "relation": "complementary", "to": int(other)})
    return named


def embedding(value):
    """Returns a vector in which texts with common words are near each other."""
    words = WORD.findall(value.lower()) if isinstance(value, str) else [str(token) for token in value]
    vector = [0.0] * DIMENSIONS
    for word in words:
        vector[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
    length = sum(one * one for one in vector) ** 0.5 or 1.0
    return [one / length for one in vector]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    model = None

    def log_message(self, *_):
        pass

    def send(self, value, status=200):
        body = compact(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/usage":
            return self.send(self.model.usage)
        self.send({"object": "list", "data": [{"id": "mock", "object": "model"}]})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/reset":
            self.model.reset()
            return self.send({})
        request = json.loads(body)
        if self.path.endswith("/embeddings"):
            return self.send(self.embed(request))
        if not self.path.endswith("/chat/completions"):
            return self.send({"error": {"message": f"no such path: {self.path}"}}, 404)
        started = time.monotonic()
        message, usage, wait = self.model.complete(request)
        # The time that the server itself needs is part of the delay.
        time.sleep(max(0.0, wait - (time.monotonic() - started)))
        finish = "tool_calls" if message.get("tool_calls") else "stop"
        self.send({
            "id": "chatcmpl-mock",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.get("model", "mock"),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": usage,
        })

    def embed(self, request):
        given = request["input"]
        texts = given if isinstance(given, list) and given and not isinstance(given[0], int) else [given]
        with self.model.lock:
            self.model.usage["embeddings"] += 1
        vectors = [embedding(text) for text in texts]
        if request.get("encoding_format") == "base64":
            vectors = [base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *one)).decode() for one in vectors]
        data = [{"object": "embedding", "index": index, "embedding": one} for index, one in enumerate(vectors)]
        return {"object": "list", "model": "mock", "data": data, "usage": {"prompt_tokens": 0, "total_tokens": 0}}


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("samples", help="a JSON file with a list of LoCoMo conversations")
    arguments.add_argument("--delay", type=float, default=500, metavar="MS", help="time that each reply takes")
    arguments.add_argument("--per-token", type=float, metavar="MS", help="time that each written token takes, instead")
    given = arguments.parse_args()
    with open(given.samples, encoding="utf-8") as file:
        Handler.model = Model(json.load(file), given.delay, given.per_token)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
