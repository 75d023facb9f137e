"""A YAML file as plain values that still know their lines, and the list of what is wrong with it."""

from dataclasses import dataclass, field
from typing import Any

from phalanx.model.quantity import shown
from phalanx.policy.mistake import PolicyError
from phalanx.yaml_text import Malformed, Notes, Path, read_one

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
    document, notes = Document(filename), Notes()
    if len(text) > SIZE_MAX:
        raise PolicyError(f"{filename}: found more than {SIZE_MAX} characters, which is no policy")
    found = read_one(text.encode("utf-8", "surrogatepass"), notes, DEPTH_MAX)
    if isinstance(found, Malformed):
        raise PolicyError(f"{filename}:{found.line}: not YAML: {found.message}")
    document.value, document.lines = found, notes.lines
    for path, line in notes.twice:
        document.mistake(path, f"given already, on line {notes.lines[path]}", line)
    return document
