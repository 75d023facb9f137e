"""Jobs whose controller is killed at any moment end as those that nobody disturbed. Long form: `make lives-fire`."""

import os
import random

import pytest

from tests.lives.fire import play, wrong
from tests.lives.scripts import lives

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.usefixtures("fresh_control_plane")]

NAMES = ("restart", "suspended", "pod", "evicted", "grows")


def test_jobs_of_a_controller_that_is_killed_at_any_moment_end_as_those_that_nobody_disturbed() -> None:
    seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(10**6))
    print(f"SEED={seed}")  # noqa: T201 (shown when the test fails)
    chosen = [life for life in lives() if life.name in NAMES]
    seen, kills = play(chosen, seed, seconds=1.5)
    assert [str(one) for one in wrong(seen, chosen)] == []
    assert kills > len(NAMES)
