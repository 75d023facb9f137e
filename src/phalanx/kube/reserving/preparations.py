"""What comes before the bind of a pod that gets devices by name, whoever gives them out on its node."""

from phalanx.kube.client import Client
from phalanx.kube.clock import Clock
from phalanx.kube.feed import Feed
from phalanx.kube.prepare import Preparation
from phalanx.kube.reserving.keeper import Keeper
from phalanx.kube.reserving.node_sides import SidedDevices
from phalanx.kube.reserving.sharing import SharedDevices
from phalanx.world.world import World


def preparations(client: Client, feed: Feed, world: World, clock: Clock, keeper: Keeper) -> list[Preparation]:
    """Return both kinds: devices that we reserve, and those of which a program on the node is told."""
    return [SharedDevices(client, feed, world, clock, keeper), SidedDevices(client, feed, world, clock)]
