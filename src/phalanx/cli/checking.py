"""What `phalanx check` does: has the cluster examined, and shows the findings as a table or as JSON."""

import asyncio
import sys
import textwrap
from collections.abc import Iterator, Sequence

import msgspec

from phalanx.cli.output import counted, safe
from phalanx.cli.queue_tree_text import terminal_width
from phalanx.kube.doctor.examine import examine
from phalanx.kube.doctor.finding import Finding, Mark
from phalanx.kube.doctor.grant import grant
from phalanx.kube.doctor.wish import Wish

_ALARMING = {Mark.WARNING, Mark.FAILED}


def checked(wish: Wish, output: str) -> int:
    """Examine, print, and return the exit status."""
    findings = asyncio.run(examine(wish))
    healthy = all(one.mark is not Mark.FAILED for one in findings)
    if output == "json":
        document = {"healthy": healthy, "findings": [_document(one) for one in findings]}
        print(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
    else:
        # Nobody folds what a program reads line by line.
        width = max(terminal_width(), 60) if sys.stdout.isatty() else None
        for line in table(findings, width, "phalanx run --dry-run" if wish.dry_run else "phalanx run"):
            print(line)
    return 0 if healthy else 2


def granted(user: str, wish: Wish) -> int:
    """Print the manifests that give a user the rights."""
    print(grant(user, wish), end="")
    return 0


def _document(finding: Finding) -> dict[str, str | None]:
    return {
        "about": finding.about, "mark": finding.mark.value, "says": finding.says, "remedy": finding.remedy,
    }  # fmt: skip


def table(findings: Sequence[Finding], width: int | None, command: str = "phalanx run") -> Iterator[str]:
    """Yield the lines that a person reads, folded to a width (None: not). A remedy never is: it is there to be copied.

    `command`: what the findings are about.
    """
    marks = max(len(mark.value) for mark in Mark)
    abouts = max(len(one.about) for one in findings)
    indent = " " * (marks + abouts + 4)
    for one in findings:
        mark = one.mark.value.upper() if one.mark in _ALARMING else one.mark.value
        head = f"{mark:<{marks}}  {one.about:<{abouts}}  "
        says = safe(one.says)
        folded = [says] if width is None else textwrap.wrap(says, max(width - len(indent), 30), break_on_hyphens=False)
        for line in folded or [""]:
            yield f"{head}{line}"
            head = indent
        if one.remedy is not None:
            yield f"{indent}{'to mend it' if one.wrong else 'to have it'}: {safe(one.remedy)}"
    yield ""
    yield _sum(findings, command)


def _sum(findings: Sequence[Finding], command: str) -> str:
    count = {mark: sum(one.mark is mark for one in findings) for mark in Mark}
    told = [
        f"{count[Mark.FAILED]} failed" if count[Mark.FAILED] else "",
        counted(count[Mark.WARNING], "warning") if count[Mark.WARNING] else "",
        f"{count[Mark.SKIPPED]} skipped" if count[Mark.SKIPPED] else "",
    ]
    some = ", ".join(filter(None, told))
    if count[Mark.FAILED]:
        return f"{some[0].upper()}{some[1:]}."
    return f"{command} works here{f': {some}' if some else ''}."
