"""Prefer: which of the devices of a node are best for copies that take part of one, by the policy's plugins."""

import numpy as np

from phalanx.engine.placement.find import GRID
from phalanx.engine.plugin import PluginError
from phalanx.engine.policy import Policy
from phalanx.engine.session.request import Request
from phalanx.engine.session.session import Session
from phalanx.model.axis import Int


def preferred(session: Session, policy: Policy, request: Request, devices: Int) -> Int:
    """Return the weighted sum of what plugins say of these rows of the device table, on the grid, entry by entry."""
    total = np.zeros(len(devices))
    for plugin, weight in policy.takes_devices:
        said = plugin.take(session, request, devices) if weight else None
        if said is None:
            continue
        if np.shape(said) != np.shape(devices) or not np.isfinite(said).all():
            raise PluginError(f"plugin {plugin.name}: take() must return a number from 0 to 1 for each device")
        total += weight * said
    return np.rint(total * GRID).astype(np.int64)
