"""Claude's memory tool (`memory_20250818`), whose files are memories.

A file is a memory under a key that is made from its path: there are no files on this machine, and no path leads to one.
The answers have the words of the SDK's own file tool.
"""

from __future__ import annotations

import re
from typing import Any

from anthropic.tools import BetaAbstractMemoryTool, ToolError

from ._client import Client, Problem
from ._keys import NotStored, Texts, digest

ROOT = "/memories"
#: The longest file, in characters: a memory has at most 8,000, with the path and the end mark.
MAX_CHARS = 7_500
_END = "\n[end of file]"
_SNIPPET = 2


class AfterthoughtMemoryTool(BetaAbstractMemoryTool):
    """Keeps the files of the memory tool with `afterthought serve http`."""

    def __init__(self, client: Client | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._texts = Texts(client or Client(), "memory-tool")

    def view(self, command: Any) -> str:
        """Shows a file, or the files below a folder."""
        path = _checked(command.path)
        text = None if path == ROOT else self._read(path)
        if text is None:
            return self._view_folder(path)
        lines = text.split("\n")
        first, last = 1, len(lines)
        wanted = getattr(command, "view_range", None)
        if wanted and len(wanted) == 2:
            first = max(1, wanted[0])
            last = len(lines) if wanted[1] == -1 else wanted[1]
        shown = _numbered(lines[first - 1 : last], first)
        return f"Here's the content of {path} with line numbers:\n{shown}"

    def _view_folder(self, path: str) -> str:
        files = self._files(path)
        if not files and path != ROOT:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        sizes: dict[str, int] = {}
        for name, size in files.items():
            parts = name.removeprefix(f"{path}/").split("/")
            # A folder is shown with the size of what is in it, down to two levels.
            for depth in range(1, min(len(parts), 3)):
                folder = f"{path}/{'/'.join(parts[:depth])}/"
                sizes[folder] = sizes.get(folder, 0) + size
            if len(parts) <= 2:
                sizes[name] = size
        hidden = [name for name in sizes if "/." in name]
        lines = [f"{_size(sum(files.values()))}\t{path}"]
        lines += [f"{_size(sizes[name])}\t{name}" for name in sorted(sizes) if name not in hidden]
        header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        return header + "\n" + "\n".join(lines)

    def create(self, command: Any) -> str:
        """Creates a file."""
        path = _checked(command.path)
        if path == ROOT or self._read(path) is not None or self._files(path):
            raise ToolError(f"File {path} already exists")
        self._write(path, command.file_text)
        return f"File created successfully at: {path}"

    def str_replace(self, command: Any) -> str:
        """Replaces a text that occurs once in a file."""
        path, text = self._existing(command.path)
        old, new = command.old_str, command.new_str
        places = [match.start() for match in re.finditer(f"(?={re.escape(old)})", text)] if old else []
        lines = [text[:place].count("\n") + 1 for place in places]
        if not places:
            raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
        if len(places) > 1:
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{', '.join(map(str, lines))}. Please ensure it is unique"
            )
        changed = text.replace(old, new)
        self._write(path, changed)
        first = max(1, lines[0] - _SNIPPET)
        shown = _numbered(changed.split("\n")[first - 1 : lines[0] + _SNIPPET], first)
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"

    def insert(self, command: Any) -> str:
        """Inserts lines after a line of a file."""
        path, text = self._existing(command.path)
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        self._write(path, "\n".join(lines) + "\n")
        return f"The file {path} has been edited."

    def delete(self, command: Any) -> str:
        """Forgets a file, or all files below a folder; the memories can be restored for 30 days."""
        path = _checked(command.path)
        if path == ROOT:
            raise ToolError("Cannot delete the /memories directory itself")
        if not self._texts.delete(digest(path)):
            files = self._files(path)
            if not files:
                raise ToolError(f"The path {path} does not exist")
            for name in files:
                self._texts.delete(digest(name))
        return f"Successfully deleted {path}"

    def rename(self, command: Any) -> str:
        """Moves a file, or all files below a folder."""
        old, new = _checked(command.old_path), _checked(command.new_path)
        if old == ROOT:
            raise ToolError("Cannot rename the /memories directory itself")
        if new == ROOT or self._read(new) is not None or self._files(new):
            raise ToolError(f"The destination {new} already exists")
        if new.startswith(f"{old}/"):
            raise ToolError(f"Cannot move {old} into itself")
        text = self._read(old)
        moved = [old] if text is not None else list(self._files(old))
        if not moved:
            raise ToolError(f"The path {old} does not exist")
        for name in moved:
            # The copy is written first, so that an error loses nothing.
            self._write(new + name.removeprefix(old), self._read(name) or "")
        for name in moved:
            self._texts.delete(digest(name))
        return f"Successfully renamed {old} to {new}"

    def clear_all_memory(self) -> str:
        """Forgets all files."""
        for name in self._files(ROOT):
            self._texts.delete(digest(name))
        return "All memory cleared"

    def _existing(self, path: str) -> tuple[str, str]:
        path = _checked(path)
        text = self._read(path)
        if text is None:
            if path == ROOT or self._files(path):
                raise ToolError(f"The path {path} is not a file.")
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        return path, text

    def _read(self, path: str) -> str | None:
        memory = self._texts.get(digest(path))
        return None if memory is None else _text(memory["content"])

    def _write(self, path: str, text: str) -> None:
        if len(text) > MAX_CHARS:
            raise ToolError(f"{path} would have {len(text)} characters; the most is {MAX_CHARS}. Use several files.")
        for end in range(1, path.count("/") - 1):
            folder = "/".join(path.split("/")[: end + 2])
            if folder != path and self._read(folder) is not None:
                raise ToolError(f"{folder} is a file, so {path} cannot be created")
        try:
            self._texts.put(digest(path), f"{path}\n{text}{_END}", [], path)
        except (Problem, NotStored) as refusal:
            reason = refusal.detail if isinstance(refusal, Problem) else str(refusal)
            raise ToolError(f"{path} was not written: {reason}") from refusal

    def _files(self, folder: str) -> dict[str, int]:
        """Returns the files below a folder, with their sizes in bytes."""
        files: dict[str, int] = {}
        for memory in self._texts.listed([]):
            path = memory["content"].split("\n", 1)[0]
            if path.startswith(f"{folder}/"):
                files[path] = len(_text(memory["content"]).encode())
        return files


def _text(content: str) -> str:
    return content.split("\n", 1)[1].removesuffix(_END)


def _checked(path: str) -> str:
    """Returns a path in its only spelling; no other leads anywhere."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with /memories, got: {path}")
    parts = path.rstrip("/").split("/")[1:]
    if any(part in ("", ".", "..") for part in parts) or re.search(r"[\\\x00-\x1f\x7f]|%2e|%2f|%5c", path, re.I):
        raise ToolError(f"Path {path} would escape /memories directory")
    if len(path) > 200:
        raise ToolError(f"Path {path[:40]}… is longer than 200 characters")
    return "/" + "/".join(parts)


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{str(number).rjust(6)}\t{line}" for number, line in enumerate(lines, first))


def _size(count: int) -> str:
    value, unit = float(count), 0
    while value >= 1024 and unit < 3:
        value, unit = value / 1024, unit + 1
    spelled = f"{value:.0f}" if value == int(value) else f"{value:.1f}"
    return spelled + "BKMG"[unit]
