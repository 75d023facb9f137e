"""The long form: FAMILIES=taints,ports CLUSTERS=50 SEED=0 python -m tests.differential [--record]."""

import os
import sys
import time

from tests.differential.arena import arena
from tests.differential.comparing import Tally, compare
from tests.differential.families.table import BUILT, FAMILIES
from tests.differential.figures import record


def main() -> int:
    """Play many cases of each family, and tell how far it is."""
    clusters, first = int(os.environ.get("CLUSTERS") or 50), int(os.environ.get("SEED") or 0)
    chosen = [name for name in os.environ.get("FAMILIES", "").split(",") if name] or list(BUILT)
    tallies: dict[str, Tally] = {}
    began = time.monotonic()
    with arena() as place:
        for name in chosen:
            tally = tallies[name] = Tally()
            for seed in range(first, first + clusters):
                found = compare(place, name, FAMILIES[name], seed)
                tally.add(found)
                for difference in found.faults:
                    sys.stdout.write(f"\r{difference}\n")
                seconds = time.monotonic() - began
                line = f"{name}: {tally.clusters}/{clusters} clusters, {tally.pods} pods, {len(tally.faults)} differ"
                sys.stderr.write(f"\r{line}, {seconds:.0f} s   ")
            sys.stderr.write("\n")
    faults = any(tally.faults for tally in tallies.values())
    if "--record" in sys.argv and not faults:
        record(tallies)
    return int(faults)


if __name__ == "__main__":
    sys.exit(main())
