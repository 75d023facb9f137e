"""Step back: a gang that did not come together before its deadline gives back the places that it has."""

import numpy as np

from phalanx.engine.eviction.budgets import affords_all
from phalanx.engine.session.session import Session

#: What such an eviction is called in the plan.
STEP_BACK = "step_back"


def step_back(session: Session) -> None:
    """Evict the members of gangs of which others should have started with them and did not."""
    snapshot, running = session.snapshot, session.snapshot.running
    overdue = np.flatnonzero(snapshot.now - running.split_since >= snapshot.wave_deadline)
    # A loop over the gangs that are split for so long, which are few.
    for row in overdue.tolist():
        tasks = np.arange(running.first[row], running.first[row] + running.count[row])
        if affords_all(session, tasks):
            session.evict_for(tasks, STEP_BACK, None, "its gang was not whole before its deadline: it steps back")
