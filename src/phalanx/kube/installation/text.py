"""The one source of manifests and chart: YAML with comments, placeholders and sections.

    ${name}         in a line: text and numbers as they are, a list or a mapping as JSON (which is YAML)
    ${name}         alone in a line: a block, indented as the placeholder is; a list or a mapping as YAML
    #if name        up to #end, each alone in a line: left out when the value is false or empty; no #else, may be nested
    $$              a dollar

What a name stands for is one row in `fields.py`. `render` gives what `phalanx install --print` prints, `template` what
`helm template` makes the same of; `manifests/README.md` says how to add a file.
"""

import json
import re
from textwrap import indent

import yaml

from phalanx.kube.installation.fields import FIELDS, Field, Installation

_BLOCK = re.compile(r"( *)\$\{(\w+)\}")
_IF = re.compile(r" *#if (\w+)")
_END = re.compile(r" *#end")
_INLINE = re.compile(r"\$(?:\$|\{(\w+)\})")


def render(source: str, installation: Installation) -> list[str]:
    """Return the documents of a file, with their comments, that an installation has."""
    lines: list[str] = []
    #: For each open section whether it is kept.
    kept: list[bool] = []
    for line in source.splitlines():
        section = _IF.fullmatch(line)
        if section:
            kept.append(bool(FIELDS[section[1]].of(installation)))
        elif _END.fullmatch(line):
            kept.pop()
        elif all(kept):
            lines.append(_rendered(line, installation))
    assert not kept, "an #if without its #end"
    documents = re.split(r"(?m)^---\n", "\n".join([*lines, ""]))
    return [text for text in documents if any(_says_something(line) for line in text.splitlines())]


def template(source: str) -> str:
    """Return the same file as a template of the chart."""
    lines = []
    for line in source.splitlines():
        section = _IF.fullmatch(line)
        block = _BLOCK.fullmatch(line)
        if section:
            lines.append(f"{{{{- if {FIELDS[section[1]].helm} }}}}")
        elif _END.fullmatch(line):
            lines.append("{{- end }}")
        elif block:
            field, spaces = FIELDS[block[2]], block[1]
            data = " | toYaml" if field.plain else ""
            lines.append(f"{spaces}{{{{- {field.helm}{data} | nindent {len(spaces)} }}}}")
        else:
            # Braces of our own would be taken for helm's.
            whole = re.sub(r"\{\{|\}\}", lambda found: f'{{{{ "{found[0]}" }}}}', line)
            lines.append(_INLINE.sub(lambda found: _expression(found[1]), whole))
    return "\n".join([*lines, ""])


def _rendered(line: str, installation: Installation) -> str:
    block = _BLOCK.fullmatch(line)
    if block:
        field = FIELDS[block[2]]
        found = field.of(installation)
        return indent(yaml.safe_dump(found, sort_keys=False) if field.plain else found, block[1]).rstrip("\n")
    return _INLINE.sub(lambda found: _inline(FIELDS[found[1]], installation) if found[1] else "$", line)


def _inline(field: Field, installation: Installation) -> str:
    found = field.of(installation)
    # As helm writes it: inside an expression a blank more would be another text.
    return json.dumps(found, separators=(",", ":")) if field.plain else str(found)


def _expression(name: str | None) -> str:
    if name is None:
        return "$"
    field = FIELDS[name]
    return f"{{{{ {field.helm}{' | toJson' if field.plain else ''} }}}}"


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")
