"""Members: which waiting tasks of a gang its minimums need, and what may follow, down its tree of subgroups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from phalanx.model.axis import Int
from phalanx.model.gang import Subgroup, leaves
from phalanx.model.plan import Code, Reason
from phalanx.model.snapshot import Snapshot


class Piece(NamedTuple):
    """Tasks of a gang that are tried together."""

    growth: bool
    tasks: Int
    #: Why they may not even be tried; without tasks it is said of those that are left out.
    hold: Reason | None = None
    #: A subgroup that starts whole, beyond the minimum.
    block: bool = False


def beyond_maximum(maximum: int) -> Reason:
    """Say that nobody more may start."""
    return Reason(Code.HELD, f"the gang has its maximum of {maximum}")


def units_of(snapshot: Snapshot, row: int) -> list[Piece]:
    """Choose the tasks of one gang by its rules."""
    gangs, tasks = snapshot.gangs, snapshot.tasks
    gang = gangs.gangs[row]
    mine = np.arange(gangs.first[row], gangs.first[row] + gangs.count[row])
    nobody = mine[:0]
    if gang.hold is not None:
        # What keeps a gang for a while must not hide what keeps its members for longer.
        text = "; ".join([gang.hold, *_held_members(snapshot, mine)])
        return [Piece(False, nobody, Reason(Code.ERROR if gang.failed else Code.HELD, text))]
    able = mine[~tasks.held[mine]]
    chosen, later, lacking = _choose(snapshot, row, able)
    if lacking is not None:
        alone = len(mine) == 1 and gang.minimum == 1 and int(mine[0]) in tasks.holds
        text = str(tasks.holds[int(mine[0])]) if alone else "; ".join([lacking, *_held_members(snapshot, mine)])
        return [Piece(False, nobody, Reason(Code.HELD, text))]
    units = [Piece(False, chosen)] if len(chosen) else []
    beyond = max(int(gangs.maximum[row] - gangs.present[row]) - len(chosen), 0)
    hold: Reason | None = None
    for block in later:
        if len(block) > beyond:
            hold = beyond_maximum(gang.maximum or 0)
            break
        units.append(Piece(True, block, block=True))
        beyond -= len(block)
    rest = able[~np.isin(able, np.concatenate([chosen, *later]))]
    if gang.chooses:
        rest = rest[_in_whole_ones(snapshot, row, rest, chosen)]
    if len(rest) > beyond:
        hold = beyond_maximum(gang.maximum or 0)
    first_held = next((task for task in mine.tolist() if tasks.held[task]), None)
    if first_held is not None:
        hold = Reason(Code.HELD, f"{tasks.names[first_held]} {tasks.holds[first_held]}")
    if len(rest) or hold is not None:
        units.append(Piece(True, rest[:beyond], hold))
    return units


def _held_members(snapshot: Snapshot, mine: Int) -> list[str]:
    """Return what holds members of a gang, each hold once; of many the first three."""
    tasks, held = snapshot.tasks, dict[str, list[str]]()
    for task in mine.tolist():
        if task in tasks.holds:
            held.setdefault(str(tasks.holds[task]), []).append(tasks.names[task])
    return [
        f"{names[0]} and {len(names) - 1} more: {hold}" if len(names) > 1 else f"{names[0]} {hold}"
        for hold, names in list(held.items())[:3]
    ]


@dataclass(frozen=True, slots=True)
class Need:
    """What a part of the tree needs to be whole."""

    #: The waiting tasks that are missing to it.
    tasks: list[int]
    #: Which members are not there; None: enough are.
    lacking: str | None
    #: Members of it run.
    started: bool = False
    #: What of it may start whole once it has its minimum.
    later: tuple[list[int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Members:
    """Who runs, and who waits, by subgroup."""

    running: Mapping[str, int]
    waiting: Mapping[str, list[int]]
    #: Of members that are held nobody should read that they do not exist.
    are: str

    def need(self, parts: Sequence[Subgroup], groups: int | None) -> Need:
        """Return what so many of these parts need to be whole; None: all of them."""
        each = [self.need(part.children, part.groups) if part.children else self._leaf(part) for part in parts]
        started = any(one.started for one in each)
        short = next((one.lacking for one in each if one.lacking is not None), None)
        if groups is None:
            found = [] if short else [task for one in each for task in one.tasks]
            return Need(found, short, started, tuple(block for one in each for block in one.later))
        fine = [one for one in each if one.lacking is None]
        if len(fine) < groups:
            return Need([], f"{len(fine)} of {groups} groups {self.are}: {short or 'there are no more'}", started)
        # Those that run already, then the oldest.
        fine.sort(key=lambda one: (not one.started, min(one.tasks, default=-1)))
        first, others = fine[:groups], fine[groups:]
        later = [block for one in first for block in one.later]
        later += [block for one in others for block in (one.tasks, *one.later) if block]
        return Need([task for one in first for task in one.tasks], None, started, tuple(later))

    def _leaf(self, part: Subgroup) -> Need:
        there, own = self.running.get(part.name, 0), self.waiting.get(part.name, [])
        if there + len(own) < part.minimum:
            text = f"{there + len(own)} of {part.minimum} members of subgroup {part.name} {self.are}"
            return Need([], text, there > 0)
        return Need(own[: max(part.minimum - there, 0)], None, there > 0)


def _choose(snapshot: Snapshot, row: int, able: Int) -> tuple[Int, list[Int], str | None]:
    """Return what is missing to the minimums, and what may follow whole, or say which members are missing."""
    gangs, tasks = snapshot.gangs, snapshot.tasks
    gang, nothing = gangs.gangs[row], able[:0]
    are = "are there" if len(able) == gangs.count[row] else "may start"
    waiting: dict[str, list[int]] = {}
    for task in able.tolist():
        waiting.setdefault(tasks.subgroups[task] or "", []).append(task)
    need = _Members(gangs.running_in.get(row, {}), waiting, are).need(gang.subgroups, gang.groups)
    if need.lacking is not None:
        return nothing, [], need.lacking
    running = int(gangs.running[row])
    if running + len(able) < gang.minimum:
        return nothing, [], f"{running + len(able)} of {gang.minimum} members {are}"
    chosen, later = need.tasks, list(need.later)
    # More subgroups, each whole, for who asks for more members than those have.
    while later and running + len(chosen) < gang.minimum:
        chosen = chosen + later.pop(0)
    others = able[~np.isin(able, np.array(chosen, np.int64))]
    if gang.chooses:
        others = others[_in_whole_ones(snapshot, row, others, np.array(chosen, np.int64))]
    short = max(gang.minimum - running - len(chosen), 0)
    if len(others) < short:
        return nothing, [], f"{running + len(chosen) + len(others)} of {gang.minimum} members {are}"
    present, asked = int(gangs.present[row]), len(chosen) + short
    if asked and present + asked > gangs.maximum[row]:
        return nothing, [], f"its maximum is {gangs.maximum[row]}, but {present} run and {asked} more are needed"
    taken = np.sort(np.concatenate([np.array(chosen, np.int64), others[:short]]))
    return taken, [np.array(sorted(block), np.int64) for block in later], None


def _in_whole_ones(snapshot: Snapshot, row: int, some: Int, chosen: Int) -> Int:
    """Return places of tasks that are in no subgroup, or in one that has its minimum with the chosen ones."""
    tasks, there = snapshot.tasks, dict(snapshot.gangs.running_in.get(row, {}))
    for task in chosen.tolist():
        name = tasks.subgroups[task] or ""
        there[name] = there.get(name, 0) + 1
    minimum = {leaf.name: leaf.minimum for leaf in leaves(snapshot.gangs.gangs[row].subgroups)}
    names = (tasks.subgroups[task] or "" for task in some.tolist())
    return np.flatnonzero([there.get(name, 0) >= minimum.get(name, 0) for name in names])
