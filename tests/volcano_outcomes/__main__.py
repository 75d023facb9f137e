"""The long form: CLUSTERS=50 SEED=0 python -m tests.volcano_outcomes [--record]."""

import os
import sys
import time

from tests.volcano_outcomes import ours, theirs
from tests.volcano_outcomes.cases import case
from tests.volcano_outcomes.comparing import Theirs, differences, record, startable, summary


def main() -> int:
    """Play many cases, and tell how far it is; fail where a group waits here that would fit."""
    clusters, first = int(os.environ.get("CLUSTERS") or 50), int(os.environ.get("SEED") or 0)
    began, found, wrong = time.monotonic(), dict[int, Theirs](), 0
    with theirs.arena() as plane:
        for seed in range(first, first + clusters):
            found[seed], here = theirs.outcome(plane, case(seed)), ours.outcome(case(seed))
            for one in differences(case(seed), found[seed], here.running):
                sys.stdout.write(f"\rcluster {seed}: {one}\n")
            for name in startable(case(seed), here):
                wrong += 1
                sys.stdout.write(f"\rcluster {seed}: {name} waits here and would fit\n")
            done = f"{seed - first + 1}/{clusters} clusters, {wrong} groups wait that would fit"
            sys.stderr.write(f"\r{done}, {time.monotonic() - began:.0f} s   ")
    sys.stderr.write("\n")
    for line in summary(found):
        sys.stdout.write(f"{line}\n")
    if "--record" in sys.argv:
        record(found)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
