"""Processes one LoCoMo conversation, or all, with afterthought and its peers against a mock model, and prints one table.

See README.md for what is measured. Each system runs in a process of its own, which includes its start.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
VARIABLE = "AFTERTHOUGHT_EVAL_LOCOMO"
PEERS = ("langmem", "mem0")
SECONDS = ("wall s", "client CPU s")
COLUMNS = ("calls", "prompt", "completion", "weighted", "facts given", "facts kept", *SECONDS, "peak MB")
# The system states peak memory in KiB, but macOS in bytes.
PEAK_UNIT = 1 if sys.platform == "darwin" else 1024
# A proxy must not receive requests to loopback.
LOOPBACK = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def sessions_of(sample):
    """Returns each session as its date and its messages."""
    conversation, sessions = sample["conversation"], []
    numbers = sorted(int(name[1]) for name in (re.fullmatch(r"session_(\d+)", one) for one in conversation) if name)
    for number in numbers:
        date = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
        sessions.append((date, [text_of(turn) for turn in conversation[f"session_{number}"]]))
    return sessions


def text_of(turn):
    photo = f" [photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn['text']}{photo}"


def dated(session):
    """Returns a session as chat messages; the first states the date, which mem0 and langmem have no field for."""
    date, texts = session
    texts = [f"[{date:%A, %d %B %Y, %H:%M}] {texts[0]}", *texts[1:]]
    return [{"role": "user", "content": text} for text in texts]


# The peers, each as its own documentation shows: one call for each session, in order. Every conversation has a namespace
# of its own.


def drive_langmem(samples, url, _folder, jobs):
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings
    from langgraph.store.memory import InMemoryStore
    from langmem import create_memory_store_manager

    embeddings = OpenAIEmbeddings(model="mock", base_url=url, api_key="mock", check_embedding_ctx_length=False)
    store = InMemoryStore(index={"dims": 1536, "embed": embeddings})
    model = ChatOpenAI(model="mock", base_url=url, api_key="mock")

    def process(sample):
        namespace = ("memories", sample["sample_id"])
        manager = create_memory_store_manager(model, namespace=namespace, store=store)
        for session in sessions_of(sample):
            manager.invoke({"messages": dated(session)})
        return len(store.search(namespace, limit=10_000))

    with ThreadPoolExecutor(jobs) as pool:
        return sum(pool.map(process, samples))


def drive_mem0(samples, url, folder, _jobs):
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = folder
    from mem0 import Memory

    server = {"model": "mock", "api_key": "mock", "openai_base_url": url}
    qdrant = {"path": f"{folder}/qdrant", "embedding_model_dims": 1536, "on_disk": True}
    memory = Memory.from_config({
        "llm": {"provider": "openai", "config": server},
        "embedder": {"provider": "openai", "config": server},
        "vector_store": {"provider": "qdrant", "config": qdrant},
        "history_db_path": f"{folder}/history.db",
    })
    kept = 0
    for sample in samples:
        name = sample["sample_id"]
        for session in sessions_of(sample):
            memory.add(dated(session), user_id=name)
        kept += len(memory.get_all(filters={"user_id": name}, top_k=10_000)["results"])
    return kept


def environment(root, name):
    """Returns the Python of a peer's environment, which is made if it does not exist."""
    folder, requirements = root / name, HERE / f"{name}.txt"
    python, done = folder / "bin" / "python", folder / "installed.txt"
    if done.exists() and done.read_text() == requirements.read_text():
        return python
    print(f"installing {name} in {folder}", file=sys.stderr)
    venv.create(folder, with_pip=True)
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines() or ["pip failed"]
        raise RuntimeError(lines[-1])
    done.write_text(requirements.read_text())
    return python


class Mock:
    """The mock model in a process of its own."""

    def __init__(self, python, path, given):
        command = [python, HERE / "mock.py", path, "--delay", str(given.delay)]
        if given.per_token:
            command += ["--per-token", str(given.per_token)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        port = self.process.stdout.readline().strip()
        if not port:
            raise SystemExit("error: the mock model did not start; see its message above")
        self.root = f"http://127.0.0.1:{port}"

    def reset(self):
        LOOPBACK.open(f"{self.root}/reset", data=b"{}").read()

    def usage(self):
        return json.load(LOOPBACK.open(f"{self.root}/usage"))

    def stop(self):
        self.process.terminate()
        self.process.wait()


def measured(command, home, mock):
    """Runs a command in an empty home and returns what it printed and what it used."""
    env = {name: os.environ[name] for name in ("PATH", "LANG", "SSL_CERT_FILE") if name in os.environ}
    env |= {"HOME": str(home), "OPENAI_API_KEY": "mock", "LANGSMITH_TRACING": "false"}
    mock.reset()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        process = subprocess.Popen(command, env=env, cwd=home, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
        out.seek(0), err.seek(0)
        if os.waitstatus_to_exitcode(status) != 0:
            lines = err.read().decode(errors="replace").strip().splitlines() or ["no message"]
            raise RuntimeError(f"exit {os.waitstatus_to_exitcode(status)}: {lines[-1]}")
        usage = mock.usage()
        row = {
            "calls": usage["calls"],
            "prompt": usage["prompt"],
            "completion": usage["completion"],
            "weighted": usage["prompt"] + 4 * usage["completion"],
            "facts given": usage["facts"],
            "wall s": wall,
            "client CPU s": used.ru_utime + used.ru_stime,
            "peak MB": used.ru_maxrss * PEAK_UNIT / 1e6,
        }
        return out.read().decode(), row


def run_peer(name, given, path, mock, home):
    python = environment(given.environments, name)
    command = [python, Path(__file__).resolve(), "--drive", name, path, f"{mock.root}/v1", home, str(given.jobs)]
    printed, row = measured(command, home, mock)
    return row | {"facts kept": int(printed.split()[-1])}


def run_ours(program, given, path, mock, home):
    database = home / "memories.db"
    command = [program, "--db", database, "run", path, "--extractor", "llm", "--model", "mock", "--jobs", str(given.jobs)]
    printed, row = measured([*command, "--base-url", f"{mock.root}/v1"], home, mock)
    listed = [program, "--db", database, "--json", "memory", "list", "--everywhere", "--limit", "100000"]
    env = os.environ | {"HOME": str(home)}
    lines = subprocess.run(listed, env=env, cwd=home, capture_output=True, text=True).stdout.splitlines()
    return row | {"facts kept": len(lines)}


def print_table(rows):
    print("| | " + " | ".join(COLUMNS) + " |")
    print("|---|" + "--:|" * len(COLUMNS))
    for name, row in rows:
        cells = (f"{row[one]:,.1f}" if one in SECONDS else f"{row[one]:,.0f}" for one in COLUMNS)
        print(f"| {name} | " + " | ".join(cells) + " |")


def read_samples(name):
    """Returns the conversation with this name, or all conversations of the file for `all`."""
    path = os.environ.get(VARIABLE)
    if not path:
        raise SystemExit(f"error: set {VARIABLE} to the path of LoCoMo's JSON file")
    try:
        samples = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise SystemExit(f"error: cannot read {path}: {error.strerror}")
    except ValueError as error:
        raise SystemExit(f"error: {path} is not JSON: {error}")
    samples = samples if isinstance(samples, list) else [samples]
    samples = [one for one in samples if isinstance(one, dict) and one.get("sample_id") and one.get("observation")]
    chosen = samples if name == "all" else [one for one in samples if one["sample_id"] == name]
    if not chosen:
        which = "no conversation" if name == "all" else f"no conversation {name}"
        raise SystemExit(f"error: {path} has {which} with observations")
    return chosen


def version_of(program):
    try:
        return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SystemExit(f"error: cannot run {program}: {reason}; pass --program with the path of a release build")


def arguments():
    root = HERE.parents[1] / "target"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=str(root / "release" / "afterthought"), help="afterthought's program")
    parser.add_argument("--delay", type=float, default=500, metavar="MS", help="time that each reply takes (500)")
    parser.add_argument("--per-token", type=float, metavar="MS", help="time that each written token takes, instead")
    parser.add_argument("--only", default=",".join(PEERS), help="peers to run, separated by commas")
    parser.add_argument("--sample", default="conv-26", help="the conversation's id, or all (conv-26)")
    parser.add_argument("--jobs", type=int, default=4, metavar="N", help="requests of afterthought, or conversations of "
                        "langmem, at a time (4)")
    parser.add_argument("--environments", type=Path, default=root / "peers", help="folder for the peers' environments")
    return parser.parse_args()


def main():
    if sys.argv[1:2] == ["--drive"]:
        _, _, name, path, url, folder, jobs = sys.argv
        # A peer that imports a module called `mock` must not find the file beside this one.
        sys.path = [one for one in sys.path if Path(one or ".").resolve() != HERE]
        print(globals()[f"drive_{name}"](json.loads(Path(path).read_text()), url, folder, int(jobs)))
        return
    given = arguments()
    names = [one for one in given.only.split(",") if one]
    unknown = sorted(set(names) - set(PEERS))
    if unknown:
        raise SystemExit(f"error: unknown peer {unknown[0]}; known are {', '.join(PEERS)}")
    samples, program = read_samples(given.sample), Path(given.program).resolve()
    version = version_of(program)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.json"
        path.write_text(json.dumps(samples, ensure_ascii=False), encoding="utf-8")
        try:
            mock = Mock(environment(given.environments, "mock"), path, given)
        except RuntimeError as error:
            raise SystemExit(f"error: the mock model cannot be installed: {error}")
        rows, left_out = [], []
        runs = [(name, lambda home, name=name: run_peer(name, given, path, mock, home)) for name in names]
        runs.append((version, lambda home: run_ours(program, given, path, mock, home)))
        try:
            for name, run in runs:
                home = Path(folder) / f"home-{name.split()[0]}"
                home.mkdir()
                try:
                    rows.append((name, run(home)))
                except RuntimeError as error:
                    left_out.append(f"{name} is left out: {error}")
        finally:
            mock.stop()
    print_table([(title(name), row) for name, row in rows])
    for line in left_out:
        print(line, file=sys.stderr)
    sys.exit(1 if left_out else 0)


def title(name):
    """Returns a peer's name with the version in its list of requirements."""
    if name not in PEERS:
        return name
    first = (HERE / f"{name}.txt").read_text().splitlines()[0]
    return f"{name} {first.split('==')[1]}"


if __name__ == "__main__":
    main()
