"""Generates the types and operations of the client from `../openapi.json`.

`datamodel-codegen` makes the types; this script makes one method for each operation, for both clients. The output goes
to the folder that is given, by default the package itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import fill, indent

HERE = Path(__file__).parent
DOCUMENT = HERE.parent / "openapi.json"
WIDTH = 100


def python_type(schema: dict) -> str:
    """Returns the type of an argument."""
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "enum" in schema:
        words = [repr(word) for word in schema["enum"] if word is not None]
        return f"Literal[{', '.join(words)}]"
    [kind] = [kind for kind in kinds if kind != "null"]
    if kind == "array":
        return f"Sequence[{python_type(schema['items'])}]"
    return {
        "string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "Mapping[str, Any]",
    }[kind]


def python_name(name: str) -> str:
    """Returns the name of an argument, which must not be a word of the language."""
    return {"from": "from_", "If-Match": "version"}.get(name, name)


def resolved(document: dict, value: dict) -> dict:
    reference = value.get("$ref")
    if reference is None:
        return value
    for part in reference.removeprefix("#/").split("/"):
        document = document[part]
    return document


class Operation:
    """One method of the client."""

    def __init__(self, document: dict, path: str, verb: str, described: dict) -> None:
        self.path, self.verb, self.described = path, verb.upper(), described
        self.places: dict[str, list[str]] = {"path": [], "query": [], "header": [], "body": []}
        required, optional = [], []
        for parameter in described["parameters"]:
            parameter = resolved(document, parameter)
            name, schema = parameter["name"], parameter["schema"]
            self.places[parameter["in"]].append(name)
            to = required if parameter.get("required") else optional
            to.append((name, schema, parameter["description"]))
        if "requestBody" in described:
            body = resolved(document, described["requestBody"]["content"]["application/json"]["schema"])
            for name, schema in body["properties"].items():
                self.places["body"].append(name)
                to = required if name in body.get("required", []) else optional
                to.append((name, schema, schema.get("description", "")))
        # The parameters that all operations share come last.
        shared = ("namespace", "exact", "If-Match")
        optional.sort(key=lambda one: one[0] in shared)
        self.required, self.optional = required, optional
        [self.content] = described["responses"]["200"]["content"]
        answer = described["responses"]["200"]["content"][self.content]["schema"]
        self.answer = "models." + answer["$ref"].rsplit("/", 1)[1]

    def arguments(self) -> str:
        lines = [f"{python_name(name)}: {python_type(schema)}," for name, schema, _ in self.required]
        lines += [f"{python_name(name)}: {python_type(schema)} | None = None," for name, schema, _ in self.optional]
        return "\n".join(["self,", "*,", *lines])

    def doc(self) -> str:
        text = [fill(self.described["description"], WIDTH - 12), "", "Args:"]
        for name, _, about in [*self.required, *self.optional]:
            text.append(fill(f"{python_name(name)}: {about}".rstrip(": "), WIDTH - 12, initial_indent="    ",
                             subsequent_indent="        "))
        return "\n".join(text)

    def method(self, is_async: bool) -> str:
        def mapping(place: str) -> str:
            return "{" + ", ".join(f"{name!r}: {python_name(name)}" for name in self.places[place]) + "}"

        is_lines = self.content == "application/x-ndjson"
        call = "_lines" if is_lines else "_call"
        kind = ("AsyncIterator" if is_async else "Iterator") + f"[{self.answer}]" if is_lines else self.answer
        body = mapping("body") if "requestBody" in self.described else "None"
        passed = f"{self.verb!r}, {self.path!r}, {mapping('path')}, {mapping('query')}, {mapping('header')}, {body}"
        awaited = "await " if is_async and not is_lines else ""
        start = "async def" if is_async and not is_lines else "def"
        lines = [
            f"{start} {self.described['operationId']}(",
            indent(self.arguments(), "    "),
            f") -> {kind}:",
            f'    """{indent(self.doc(), "    ").strip()}',
            '    """',
            f"    return {awaited}self.{call}({passed})  # type: ignore[no-any-return]"
            if not is_lines else f"    return self.{call}({passed})",
        ]
        return indent("\n".join(lines), "    ")


def operations(document: dict) -> str:
    """Returns the module with the methods of both clients."""
    found = [
        Operation(document, path, verb, described)
        for path, verbs in document["paths"].items()
        for verb, described in verbs.items()
    ]
    parts = [
        '"""Operations of the interface; made by generate.py."""',
        "from __future__ import annotations",
        "from collections.abc import AsyncIterator, Iterator, Mapping, Sequence\nfrom typing import Any, Literal",
        "from . import models",
    ]
    for name, is_async in (("Operations", False), ("AsyncOperations", True)):
        start = "async def" if is_async else "def"
        iterator = "AsyncIterator" if is_async else "Iterator"
        parts.append(
            f"class {name}:\n"
            f'    """One method for each operation."""\n\n'
            f"    {start} _call(self, *request: Any) -> Any:\n        raise NotImplementedError\n\n"
            f"    def _lines(self, *request: Any) -> {iterator}[Any]:\n        raise NotImplementedError"
        )
        parts.extend(operation.method(is_async) for operation in found)
    return "\n\n".join(parts) + "\n"


def generate(folder: Path) -> None:
    """Writes the generated modules into a folder."""
    subprocess.run(
        [
            sys.executable, "-m", "datamodel_code_generator", "--input", str(DOCUMENT), "--input-file-type", "openapi",
            "--output", str(folder / "models.py"), "--output-model-type", "typing.TypedDict",
            "--target-python-version", "3.10", "--disable-timestamp", "--formatters", "builtin",
            "--use-schema-description",
        ],
        check=True,
    )
    (folder / "_operations.py").write_text(operations(json.loads(DOCUMENT.read_text("utf-8"))), "utf-8")


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "src" / "afterthought_client")
