"""What a dry run prints: of each plan what the one before did not say. A cycle that says nothing new is silent."""

from collections import Counter
from collections.abc import Hashable, Sequence
from math import floor

from phalanx.cli.lines import Line
from phalanx.cli.plan_document import timestamp
from phalanx.cli.plan_text import Row, aligned, rows
from phalanx.model.plan import Code, Evict, Plan, Wait


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
        return [
            (f"{timestamp(floor(plan.now))}  would do now", "would"),
            *(aligned(told) or [("  nothing", "")]),
            *_same([(last[sense], row) for sense, row in now.items() if sense in last]),
        ]


def _same(pairs: Sequence[tuple[Row, Row]]) -> list[Line]:
    """Count what was told before. Where a gang is gone those behind it move up: another place alone is no news."""
    counts = Counter(row.word for _, row in pairs)
    moved = sum(old.what != row.what for old, row in pairs if row.word in {"bind", "nominate"})
    said = [f"{count:,} {word}" for word, count in counts.items()]
    elsewhere = f"; {moved:,} of them with other places" if moved else ""
    return [(f"  as before: {', '.join(said)}{elsewhere}", "")] if pairs else []


def _sense(row: Row) -> Hashable:
    """Return what must differ before a row is told again: of a reason the code and the leading filter.

    Its figures change with every pod that comes and goes, and what would help does not.
    """
    first, pods = row.steps[0], len(row.steps)
    if isinstance(first, Evict):
        return row.word, row.who, first.action, first.beneficiary
    if not isinstance(first, Wait):
        return row.word, row.who, pods
    reason, missing = first.reason, sum(step.missing for step in row.steps if isinstance(step, Wait))
    leading = reason.refusals[0].plugin if reason.refusals else ""
    return row.word, row.who, missing, reason.code, reason.text if reason.code is Code.HELD else leading
