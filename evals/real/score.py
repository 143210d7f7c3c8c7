#!/usr/bin/env python3
"""Runs the offline extractor on public logs and scores what it keeps.

    score.py run LOGS BINARY OUT [--part PART] [--jobs N]
    score.py sample OUT LOGS N [--seed TEXT] > sample.jsonl
    score.py record sample.jsonl labels.txt JUDGE >> judgements.jsonl
    score.py score OUT judgements.jsonl [MORE...]

LOGS is a folder with the files of sources.json, each at REPOSITORY/PATH. A log whose result is in OUT is not run again.
Needs Python 3.9 and nothing else.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

LABELS = ("helps", "worthless", "wrong")
PARTS = ("tune", "final", "final-2", "final-3")
SECONDS_PER_LOG = 600
CONTEXT_CHARS = 300


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def sources(part):
    here = pathlib.Path(__file__).parent
    listed = json.loads((here / "sources.json").read_text(encoding="utf-8"))
    return [source for source in listed if part in (None, source["part"])]


def digest(repository, path, content):
    """The identity of a memory: it names the memory without showing it."""
    return hashlib.sha256("\n".join((repository, path, content)).encode()).hexdigest()[:16]


def rule(memory):
    """The kind of statement that was kept, as far as the memory shows it."""
    if memory["structured"] and memory["structured"].get("kind") == "episode":
        return "episode"
    if re.match(r'[^"“„«]{1,80} ?(?:said: "|说：“|sagte: „|dijo: «)', memory["content"]):
        return f'quotation/{memory["category"]}'
    return f'{memory["type"]}/{memory["category"]}'


# Running


def run_one(source, logs, binary, out):
    log = logs / source["repository"] / source["path"]
    kept = out / f'{digest(source["repository"], source["path"], "")}.json'
    if kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))["run"]
    home = pathlib.Path(tempfile.mkdtemp(prefix="home-", dir=out))
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}
    common = ["--db", str(home / "memories.db")]
    started = time.monotonic()
    result = {key: source[key] for key in ("repository", "path", "format", "part")}
    memories = []
    try:
        ran = subprocess.run(
            [binary, "run", str(log), "--extractor", "rules", *common],
            cwd=home, env=environment, capture_output=True, text=True, errors="replace", timeout=SECONDS_PER_LOG,
        )
        exported = subprocess.run(
            [binary, "export", *common], cwd=home, env=environment, capture_output=True, text=True, errors="replace"
        )
        counted = re.search(r"(\d[\d,]*) messages?\b", ran.stdout + ran.stderr)
        result.update(
            exit=ran.returncode,
            messages=int(counted[1].replace(",", "")) if counted else 0,
            note=(ran.stderr.strip().splitlines() or [""])[-1][:200] if ran.returncode else "",
        )
        for line in exported.stdout.splitlines():
            memory = json.loads(line)
            evidence = memory["evidence"][0] if memory["evidence"] else {}
            memories.append({
                "hash": digest(source["repository"], source["path"], memory["content"]),
                **{key: source[key] for key in ("repository", "path", "format", "part")},
                "rule": rule(memory),
                "content": memory["content"],
                "namespace": memory["namespace"],
                "type": memory["type"],
                "category": memory["category"],
                "quote": evidence.get("quote"),
                "speaker": evidence.get("speaker"),
                "said_at": (evidence.get("said_at") or {}).get("at"),
            })
    except subprocess.TimeoutExpired:
        result.update(exit=None, messages=0, note=f"not finished after {SECONDS_PER_LOG} s")
    finally:
        shutil.rmtree(home, ignore_errors=True)
    result.update(kept=len(memories), seconds=round(time.monotonic() - started, 1))
    kept.write_text(json.dumps({"run": result, "memories": memories}), encoding="utf-8")
    return result


def run(arguments):
    arguments.out.mkdir(parents=True, exist_ok=True)
    out, logs, binary = arguments.out.resolve(), arguments.logs.resolve(), str(arguments.binary.resolve())
    listed = [s for s in sources(arguments.part) if (logs / s["repository"] / s["path"]).exists()]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda source: run_one(source, logs, binary, out), listed))
    for result in results:
        if result["exit"] != 0 or not result["messages"]:
            print(f'{result["repository"]}/{result["path"]}: exit {result["exit"]}, '
                  f'{result["messages"]} messages {result["note"]}', file=sys.stderr)
    kept = sum(result["kept"] for result in results)
    print(f"{len(results)} logs, {sum(r['messages'] for r in results)} messages, {kept} memories", file=sys.stderr)


def kept_memories(out):
    memories = {}
    for path in sorted(out.glob("*.json")):
        for memory in json.loads(path.read_text(encoding="utf-8"))["memories"]:
            memories[memory["hash"]] = memory
    return memories


# Sampling


def strings(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def surroundings(log, quote):
    """The words of the log around a quote, or nothing where the quote is not found as it stands."""
    if not quote or not log.is_file():
        return None
    text = log.read_text(encoding="utf-8", errors="replace")
    start = " ".join(quote.split())[:60]
    texts = [text]
    if log.suffix in (".json", ".jsonl"):
        texts = []
        for line in ([text] if log.suffix == ".json" else text.splitlines()):
            try:
                texts.extend(strings(json.loads(line)))
            except ValueError:
                texts.append(line)
    for one in texts:
        flat = " ".join(one.split())
        at = flat.find(start)
        if at >= 0:
            return flat[max(0, at - CONTEXT_CHARS):at + len(quote) + CONTEXT_CHARS]
    return None


def sample(arguments):
    """Takes memories from each repository in turn and, within one, from each log in turn."""
    def order(memory):
        return hashlib.sha256((arguments.seed + memory["hash"]).encode()).hexdigest()

    repositories = collections.defaultdict(lambda: collections.defaultdict(list))
    for memory in kept_memories(arguments.out).values():
        repositories[memory["repository"]][memory["path"]].append(memory)
    queues = []
    for logs in repositories.values():
        lists = [sorted(log, key=order) for log in logs.values()]
        lists.sort(key=lambda log: order(log[0]))
        queue = [log[turn] for turn in range(max(map(len, lists))) for log in lists if turn < len(log)]
        queues.append(queue)
    queues.sort(key=lambda queue: order(queue[0]))
    drawn = [queue[turn] for turn in range(max(map(len, queues), default=0)) for queue in queues if turn < len(queue)]
    for memory in drawn[:arguments.count]:
        memory["context"] = surroundings(arguments.logs / memory["repository"] / memory["path"], memory["quote"])
        for key in ("rule", "part"):
            memory.pop(key)
        print(json.dumps(memory, ensure_ascii=False))


# Judging


def record(arguments):
    """Joins a sample and a file with one label a line into judgements that hold no words of a log."""
    drawn = read_lines(arguments.sample)
    labels = [line.split()[0] for line in arguments.labels.read_text(encoding="utf-8").splitlines() if line.strip()]
    short = {label[:3]: label for label in LABELS}
    if len(labels) != len(drawn):
        sys.exit(f"{len(drawn)} memories, but {len(labels)} labels")
    for memory, label in zip(drawn, labels):
        print(json.dumps({"hash": memory["hash"], "judge": arguments.judge, "label": short[label[:3]]}))


def wilson(hits, count, z=1.96):
    if not count:
        return 0.0, 0.0, 1.0
    share = hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return share, max(0.0, middle - half), min(1.0, middle + half)


def kappa(pairs):
    """Cohen's kappa of two judges over the memories that both judged."""
    count = len(pairs)
    agreed = sum(first == second for first, second in pairs) / count
    chance = sum(
        (sum(first == label for first, _ in pairs) / count) * (sum(second == label for _, second in pairs) / count)
        for label in LABELS
    )
    return 1.0 if chance == 1 else (agreed - chance) / (1 - chance)


def print_table(title, groups):
    print(f"\n| {title} | judged | helps | worthless | wrong |\n|---|---|---|---|---|")
    for name, labels in sorted(groups.items(), key=lambda group: (group[0] == "all", -len(group[1]))):
        cells = ["{:.2f} ({:.2f}–{:.2f})".format(*wilson(labels.count(label), len(labels))) for label in LABELS]
        print(f"| {name} | {len(labels)} | " + " | ".join(cells) + " |")


def score(arguments):
    memories = kept_memories(arguments.out)
    judged = collections.defaultdict(dict)
    for path in arguments.judgements:
        for line in read_lines(path):
            if line["hash"] in memories:
                judged[line["judge"]][line["hash"]] = line["label"]
    for judge, labels in judged.items():
        print(f"\njudge {judge}: {len(labels)} of {len(memories)} kept memories")
        for title, key in (("format", "format"), ("rule", "rule")):
            groups = collections.defaultdict(list)
            for name, label in labels.items():
                groups[memories[name][key]].append(label)
                groups["all"].append(label)
            print_table(title, groups)
    judges = sorted(judged)
    for at, first in enumerate(judges):
        for second in judges[at + 1:]:
            both = sorted(judged[first].keys() & judged[second].keys())
            if both:
                pairs = [(judged[first][name], judged[second][name]) for name in both]
                print(f"\nkappa of {first} and {second} over {len(both)} memories: {kappa(pairs):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    path = pathlib.Path
    command = commands.add_parser("run", help="extract from each log on its own")
    command.add_argument("logs", type=path)
    command.add_argument("binary", type=path)
    command.add_argument("out", type=path)
    command.add_argument("--part", choices=PARTS)
    command.add_argument("--jobs", type=int, default=1)
    command.set_defaults(call=run)
    command = commands.add_parser("sample", help="draw memories to be judged")
    command.add_argument("out", type=path)
    command.add_argument("logs", type=path)
    command.add_argument("count", type=int)
    command.add_argument("--seed", default="")
    command.set_defaults(call=sample)
    command = commands.add_parser("record", help="turn labels into judgements")
    command.add_argument("sample", type=path)
    command.add_argument("labels", type=path)
    command.add_argument("judge")
    command.set_defaults(call=record)
    command = commands.add_parser("score", help="print shares, intervals and agreement")
    command.add_argument("out", type=path)
    command.add_argument("judgements", type=path, nargs="+")
    command.set_defaults(call=score)
    arguments = parser.parse_args()
    arguments.call(arguments)


if __name__ == "__main__":
    main()
