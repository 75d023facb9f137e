"""Load a policy by the name of a preset or from a file, following what it extends."""

from dataclasses import dataclass
from pathlib import Path

from phalanx.engine.policy import Policy
from phalanx.engine.shares.quota_then_weight import QuotaThenWeight
from phalanx.model.charges import Charges
from phalanx.model.device import DEVICE_RESOURCES
from phalanx.model.quantity import shown
from phalanx.policy.document import SIZE_MAX, Document, parse
from phalanx.policy.mistake import PolicyError
from phalanx.policy.sections import Sections, read_sections
from phalanx.policy.spelling import nearest

__all__ = ["PolicyError", "load_policy", "parse_policy", "preset_names", "preset_text"]


def load_policy(name_or_path: str) -> Policy:
    """Return a preset or the policy in a file; raise `PolicyError` with every mistake, one line each."""
    try:
        source = _source(name_or_path, Path())
    except _SourceError as error:
        name = name_or_path if name_or_path.isprintable() else shown(name_or_path)
        raise PolicyError(f"{name}: {error}") from None
    return _policy(name_or_path, source)


def parse_policy(text: str, filename: str) -> Policy:
    """Return the policy that a file of this name and text holds."""
    return _policy(filename, _Source(filename, text, Path(filename).parent))


def preset_names() -> list[str]:
    """Return the presets that ship, the default first."""
    names = [entry.name.removesuffix(".yaml") for entry in _presets().iterdir() if entry.name.endswith(".yaml")]
    return sorted(names, key=lambda name: (name != "default", name))


def preset_text(name: str) -> str:
    """Return a preset as the file that it is, comments and all."""
    return (_presets() / f"{name}.yaml").read_text("utf-8")


def _presets() -> Path:
    return Path(__file__).parent / "presets"


class _SourceError(Exception):
    """There is nothing to read under a name; the text says why."""


@dataclass(frozen=True, slots=True)
class _Source:
    """A text and where it stands: what it extends is found from `folder`."""

    filename: str
    text: str
    folder: Path


def _source(name: str, folder: Path) -> _Source:
    """Find a preset, or a file relative to a folder."""
    presets = preset_names()
    if name in presets:
        return _Source(f"{name}.yaml (preset)", preset_text(name), folder)
    path = folder / name
    try:
        with path.open("rb") as file:
            content = file.read(SIZE_MAX + 1)
        if len(content) > SIZE_MAX:
            raise _SourceError(f"found more than {SIZE_MAX} bytes, which is no policy")
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        meant = nearest(name, presets)
        guess = f", did you mean {meant}?" if meant else ""
        raise _SourceError(f"no such file or preset{guess} (presets: {', '.join(presets)})") from None
    except UnicodeDecodeError as error:
        raise _SourceError(f"not UTF-8 text at byte {error.start}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise _SourceError(f"cannot be read: {reason}") from None
    return _Source(str(path), text, path.parent)


def _policy(name: str, source: _Source) -> Policy:
    """Read a file and all that it extends, and report the mistakes of all of them together."""
    sections, mistakes, chain = Sections(), list[str](), [source.filename]
    first: Document | None = None
    following: _Source | None = source
    while following is not None:
        try:
            document = parse(following.text, following.filename)
        except PolicyError as error:
            mistakes.append(str(error))
            break
        first = first or document
        own = read_sections(document)
        sections = sections.over(own)
        following = _extended(document, own.extends, following.folder, chain)
        mistakes += document.mistakes
    if not mistakes and first is not None:
        for key, value in (("actions", sections.actions), ("plugins", sections.plugins)):
            if value is None:
                first.mistake((key,), "missing; list them, or start from a preset with `extends: default`")
        mistakes += first.mistakes
    if mistakes:
        raise PolicyError("\n".join(mistakes))
    return Policy(
        name, sections.actions or (), sections.plugins or (),
        sections.scheduler_names or ("phalanx",), sections.search_steps or 20_000, sections.share or QuotaThenWeight(),
        DEVICE_RESOURCES if sections.devices is None else sections.devices,
        Charges() if sections.charges is None else Charges(sections.charges), sections.levels,
    )  # fmt: skip


def _extended(document: Document, name: str | None, folder: Path, chain: list[str]) -> _Source | None:
    """Return what a file extends, unless that leads back to where it came from."""
    if name is None:
        return None
    try:
        source = _source(name, folder)
    except _SourceError as error:
        document.mistake(("extends",), f"{shown(name)}: {error}")
        return None
    if source.filename in chain:
        document.mistake(("extends",), f"goes round in a circle: {' -> '.join([*chain, source.filename])}")
        return None
    chain.append(source.filename)
    return source
