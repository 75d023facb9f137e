"""Manifests on disk or on standard input: paths in, documents with their source out.

Nothing here knows what a Pod is. A file or a document that cannot be read becomes one line for a person, and
the others proceed.
"""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from phalanx import yaml_text

STDIN = "-"
_SUFFIXES = (".yaml", ".yml", ".json")
#: What a Helm chart has between its lines. It may parse as YAML all the same, until it does not.
_TEMPLATE = b"{{"
_RENDER = "; a template? render it first: helm template CHART | phalanx plan -f -"
_BYTE = re.compile(r" \(byte ([0-9]+)\)$")
#: A list inside a list inside a list is already more than anybody writes.
_LISTS_MAX = 10

#: Told how many more bytes are done.
Progress = Callable[[int], None]
#: A document: any mapping with a kind.
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Document:
    """One Kubernetes object as it was written, and where."""

    object: Object
    source: str


@dataclass(slots=True)
class Manifests:
    """What was found: the documents in order, and a line for everything that could not be used."""

    documents: list[Document] = field(default_factory=list[Document])
    #: Files without content, documents that are malformed: the rest is still worth a plan.
    problems: list[str] = field(default_factory=list[str])
    #: Paths that do not exist or may not be read: a plan from the rest would be wrong.
    unreadable: list[str] = field(default_factory=list[str])


def find(paths: Sequence[str], manifests: Manifests) -> list[str]:
    """Resolve files and directories (recursively, in order of name) to the files to read, each once."""
    files: dict[str, str] = {}
    for path in paths:
        if path == STDIN:
            files[STDIN] = STDIN
            continue
        inside = list(_walk(path, manifests.unreadable)) if Path(path).is_dir() else [path]
        if not inside:
            manifests.problems.append(f"{path}: the directory has no manifests (*{', *'.join(_SUFFIXES)})")
        for file in inside:
            files.setdefault(os.path.realpath(file), file)
    return list(files.values())


def load(file: str, manifests: Manifests) -> bytes | None:
    """Return the bytes of a file, or None with a line on why not."""
    try:
        return sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()
    except (OSError, ValueError) as error:
        manifests.unreadable.append(f"{file}: {_why(error)}")
        return None


def decode(data: bytes, file: str, manifests: Manifests, progress: Progress = lambda _: None) -> None:
    """Decode the documents of one file. `List`s are opened."""
    name = "standard input" if file == STDIN else file
    number, hint = 0, _RENDER if _TEMPLATE in data else ""
    for value, size in _values(data, name):
        progress(size)
        number += value is not None
        source = name if number <= 1 else f"{name} document {number}"
        if isinstance(value, yaml_text.Malformed):
            manifests.problems.append(f"{name}:{value.line}: {value.message}{hint}")
            hint = ""
        elif value is not None:
            _open(value, source, manifests)
    if not number:
        manifests.problems.append(f"{name}: the file {'has no objects' if data.strip() else 'is empty'}")


def _values(data: bytes, name: str) -> Iterator[tuple[object, int]]:
    """Yield decoded values and how many bytes each took; None where there was nothing but bytes."""
    if name.endswith(".json") or data.lstrip()[:1] == b"{":
        value = _json(data)
        # What starts with a brace may still be YAML in flow style.
        if name.endswith(".json") or not isinstance(value, yaml_text.Malformed):
            yield value, len(data)
            return
    for line, part in yaml_text.split(data):
        for value in yaml_text.parse(part, line):
            yield value, 0
        yield None, len(part)


def _json(data: bytes) -> object:
    """Decode a JSON file."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        return None
    try:
        value: object = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        at = _BYTE.search(str(error))
        line = 1 + data[: int(at[1])].count(b"\n") if at else 1 + data.rstrip().count(b"\n")
        words = _BYTE.sub("", str(error).removeprefix("JSON is malformed: "))
        return yaml_text.Malformed(line, f"not JSON: {words}")
    except UnicodeDecodeError:
        return yaml_text.Malformed(1, "not JSON: not UTF-8 text")
    except RecursionError:
        return yaml_text.Malformed(1, "not JSON: nested too deep")
    return value


def _open(value: object, source: str, manifests: Manifests, depth: int = 0) -> None:
    """Keep an object, or the items of a list of objects."""
    if not isinstance(value, dict):
        manifests.problems.append(f"{source}: found {_noun(value)}, allowed is a Kubernetes object")
        return
    kind = value.get("kind")
    if not isinstance(kind, str) or not kind:
        found = "no kind" if kind is None else f"kind {_noun(kind)}"
        manifests.problems.append(f"{source}: found {found}, allowed is a Kubernetes object with a kind")
        return
    if not (kind.endswith("List") and "items" in value) or depth > _LISTS_MAX:
        manifests.documents.append(Document(value, source))
        return
    items = value["items"]
    if not isinstance(items, list | None):
        manifests.problems.append(f"{source}: {kind}: items: found {_noun(items)}, allowed is a list")
        return
    # The items of a PodList leave out what its name says.
    implied = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")}
    for position, item in enumerate(items or (), start=1):
        bare = kind != "List" and isinstance(item, dict) and "kind" not in item
        _open(implied | item if bare else item, f"{source} item {position}", manifests, depth + 1)


def _walk(directory: str, unreadable: list[str]) -> Iterator[str]:
    """Yield the manifests below a directory, in order of name."""

    def note(error: OSError) -> None:
        unreadable.append(f"{error.filename}: {_why(error)}")

    for at, folders, names in os.walk(directory, onerror=note):
        folders.sort()
        yield from (str(Path(at, name)) for name in sorted(names) if name.endswith(_SUFFIXES))


def _why(error: Exception) -> str:
    """Return an error of the file system in a few words."""
    text = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return text[:1].lower() + text[1:]


def _noun(value: object) -> str:
    """Name what stands where something else was expected."""
    nouns = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return nouns.get(type(value), "a number")
