"""A YAML file as plain values that still know their lines, and the list of what is wrong with it."""

from dataclasses import dataclass, field
from typing import Any

import yaml

from phalanx.model.quantity import shown
from phalanx.policy.mistake import PolicyError

#: Where a value stands: keys and list positions from the top.
Path = tuple[str | int, ...]

#: Far more than any policy needs; beyond it the file is something else.
SIZE_MAX = 1_000_000
DEPTH_MAX = 32


@dataclass(slots=True)
class Document:
    """One file: its values, the line of each, and the mistakes found so far."""

    filename: str
    value: Any = None
    lines: dict[Path, int] = field(default_factory=dict[Path, int])
    _mistakes: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def mistake(self, path: Path, text: str, line: int = 0) -> None:
        """Note what is wrong with one key. A key that is missing is reported where its parent stands."""
        line = line or next((self.lines[at] for at in _outwards(path) if at in self.lines), 1)
        key = f"{written(path)}: " if path else ""
        self._mistakes.append((line, f"{self.filename}:{line}: {key}{text}"))

    @property
    def mistakes(self) -> list[str]:
        """Return every mistake, in the order of the file."""
        return [text for _, text in sorted(self._mistakes, key=lambda noted: noted[0])]


def _outwards(path: Path) -> list[Path]:
    return [path[:size] for size in range(len(path), -1, -1)]


def written(path: Path) -> str:
    """Return a path as people write it: `plugins[2].arguments.strategy`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part.replace("_", "").replace("-", "").isalnum() and len(part) < 60:
            text += f".{part}" if text else part
        else:
            text += f"[{shown(part)}]" if text else shown(part)
    return text


def parse(text: str, filename: str) -> Document:
    """Read a file. Text that is not YAML is refused at once; duplicate keys are noted and reading goes on."""
    document = Document(filename)
    try:
        if len(text) > SIZE_MAX:
            raise PolicyError(f"{filename}: found more than {SIZE_MAX} characters, which is no policy")
        _bounded(text, filename)
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if node is not None:
            document.value = _Reader(document).read(node, ())
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise PolicyError(f"{filename}:{line}: not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0)) + 1
        raise PolicyError(f"{filename}:{line}: not YAML: {getattr(error, 'reason', error)}") from None
    return document


def _bounded(text: str, filename: str) -> None:
    """Refuse what would grow when it is read: aliases multiply a small file, depth exhausts the stack."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            raise PolicyError(f"{filename}:{line}: found the alias *{event.anchor}, allowed are written-out values")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEPTH_MAX:
            raise PolicyError(f"{filename}:{line}: found values nested deeper than {DEPTH_MAX} levels")


@dataclass(frozen=True, slots=True)
class _Reader:
    """Turns YAML nodes into values and notes their lines."""

    document: Document

    def read(self, node: yaml.Node, path: Path) -> Any:
        self.document.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*path, position)) for position, item in enumerate(node.value)]
        try:
            return yaml.constructor.SafeConstructor().construct_object(node, deep=True)
        except ValueError:
            # 2026-99-99 looks like a date, and int() refuses digits by the thousand.
            self.document.mistake(path, f"found {shown(node.value)}, which has no value in YAML; put it in quotes")
            return None

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = self.read(key_node, path) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str) or not key:
                self.document.mistake(path, f"found the key {shown(key)}, allowed is text", line)
            elif key in values:
                self.document.mistake((*path, key), f"given already, on line {self.document.lines[*path, key]}", line)
            else:
                self.document.lines[*path, key] = line
                values[key] = self.read(value_node, (*path, key))
        return values
