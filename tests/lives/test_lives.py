"""The same Jobs under our controller as were recorded under Volcano's own, 1.14.1. `make lives` records them anew."""

import pytest

from tests.lives.__main__ import RECORDED, play
from tests.lives.compare import differences
from tests.lives.pictures import load

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.usefixtures("fresh_control_plane")]


def test_jobs_live_as_under_volcanos_own_controller_but_for_what_is_explained() -> None:
    theirs, ours = load(RECORDED), play("phalanx")
    unexplained = [str(found) for found, why in differences(theirs, ours) if why is None]
    assert unexplained == []
    assert len(ours) > 30
    # What Volcano's own controller does not always bring to an end.
    assert ours["late"][-1]["jobs"]["late"]["phase"] == "Aborted"
    assert "fleeting" not in ours["fleeting"][-1].get("jobs", {})
