"""What a dry run prints: of each plan what the one before did not say. A cycle that says nothing new is silent."""

from collections import Counter
from collections.abc import Hashable
from math import floor

from phalanx.cli.lines import Line
from phalanx.cli.plan_document import timestamp
from phalanx.cli.plan_text import Row, aligned, rows
from phalanx.model.plan import Code, Plan, Wait


class PlanNews:
    """Remembers the last plan, and no more: what it holds does not grow with the days."""

    def __init__(self) -> None:
        self._last: dict[Hashable, Row] | None = None

    def block(self, plan: Plan) -> list[Line]:
        """Return what is new as a block of lines; none where nothing is."""
        now = {_sense(row): row for row in rows(plan)}
        first, last = self._last is None, self._last or {}
        self._last = now
        fresh = [row for sense, row in now.items() if sense not in last]
        named = {row.who for row in now.values()}
        # Placed by somebody, deleted, or without any wish left.
        over = dict.fromkeys(row.who for row in last.values() if row.who not in named)
        told = [*fresh, *(Row("over", who, "it has its places, or is gone") for who in over)]
        if not told and not first:
            return []
        same = Counter(row.word for sense, row in now.items() if sense in last)
        head = [(f"{timestamp(floor(plan.now))}  would do now", "would")]
        tail = [(f"  as before: {', '.join(f'{count:,} {word}' for word, count in same.items())}", "")] if same else []
        return [*head, *(aligned(told) or [("  nothing", "")]), *tail]


def _sense(row: Row) -> Hashable:
    """Return what must differ before a row is told again: of a reason the code and the leading filter.

    Its figures change with every pod that comes and goes, and what would help does not.
    """
    waits = [step for step in row.steps if isinstance(step, Wait)]
    if not waits:
        return row[:3]
    reason, missing = waits[0].reason, sum(wait.missing for wait in waits)
    leading = reason.refusals[0].plugin if reason.refusals else ""
    return row.word, row.who, missing, reason.code, reason.text if reason.code is Code.HELD else leading
