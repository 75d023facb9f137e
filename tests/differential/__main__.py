"""The long form: CLUSTERS=50 FAMILIES=taints,ports SEED=0 python -m tests.differential [--record]."""

import os
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from tests.differential.arena import arena
from tests.differential.choosing import Choices, choose
from tests.differential.comparing import Tally, compare
from tests.differential.families.table import FAMILIES
from tests.differential.families.wishes import WISHES
from tests.differential.figures import record

F = TypeVar("F", Tally, Choices)


def main() -> int:
    """Play many cases of each family, and tell how far it is."""
    clusters, first = int(os.environ.get("CLUSTERS") or 50), int(os.environ.get("SEED") or 0)
    chosen = [name for name in os.environ.get("FAMILIES", "").split(",") if name] or [*FAMILIES, *WISHES]
    seeds, began = range(first, first + clusters), time.monotonic()
    tallies: dict[str, Tally] = {}
    choices: dict[str, Choices] = {}
    with arena() as place:
        for name in chosen:
            if name in WISHES:
                choices[name] = _play(name, seeds, began, Choices(), lambda n, s: choose(place, n, WISHES[n], s))
            else:
                tallies[name] = _play(name, seeds, began, Tally(), lambda n, s: compare(place, n, FAMILIES[n], s))
    faults = any(one.told for one in tallies.values()) or any(one.told for one in choices.values())
    if "--record" in sys.argv and not faults:
        record(tallies, choices)
    return int(faults)


def _play(name: str, seeds: range, began: float, found: F, play: Callable[[str, int], F]) -> F:
    for seed in seeds:
        more = play(name, seed)
        found.add(more)
        for line in more.told:
            sys.stdout.write(f"\r{line}\n")
        line = f"{name}: {found.clusters}/{len(seeds)} clusters, {found.pods} pods, {len(found.told)} differ"
        sys.stderr.write(f"\r{line}, {time.monotonic() - began:.0f} s   ")
    sys.stderr.write("\n")
    return found


if __name__ == "__main__":
    sys.exit(main())
