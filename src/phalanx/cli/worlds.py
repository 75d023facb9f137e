"""What commands begin with: a policy as the options name it, and a world filled from manifests."""

from collections.abc import Sequence
from dataclasses import replace

from phalanx.cli.output import Mistake, complain
from phalanx.engine.policy import Policy
from phalanx.policy.load import PolicyError, load_policy
from phalanx.sim import manifests
from phalanx.sim.manifests import Document, Manifests
from phalanx.sim.objects import read_objects
from phalanx.world.world import World


def chosen(policy: str, scheduler_names: Sequence[str]) -> Policy:
    """Return the policy of a name or a file, which serves these scheduler names too."""
    try:
        found = load_policy(policy)
    except PolicyError as error:
        raise Mistake(str(error)) from None
    names = dict.fromkeys([*found.scheduler_names, *scheduler_names])
    return replace(found, scheduler_names=tuple(names))


def fill(world: World, paths: Sequence[str], policy: Policy) -> list[Document]:
    """Fill a world from manifests, and return them; raise `Mistake` if there is nothing of use."""
    found = Manifests()
    for file in manifests.find(paths, found):
        data = manifests.load(file, found)
        if data is not None:
            manifests.decode(data, file, found)
    if found.unreadable:
        raise Mistake("\n".join(found.unreadable))
    objects = read_objects(found.documents, policy.ours)
    bad = [*found.problems, *(f"{one} ({source})" for one, source in [*objects.refused, *objects.astray])]
    if not objects.events:
        raise Mistake("\n".join(bad) or "nothing to show: found no Queue, no Node and no Pod")
    for line in bad:
        complain(line)
    world.sharings.set(policy.sharing)
    for event in objects.events:
        world.apply(event)
    return found.documents


def look_at(kubeconfig: str | None, context: str | None, world: World, policy: Policy) -> float:
    """Fill a world from a cluster; return the cluster's time."""
    # The network libraries take a while to load, and files do without.
    from phalanx.kube.credentials import AccessError  # noqa: PLC0415
    from phalanx.kube.look import LookError, look  # noqa: PLC0415

    world.sharings.set(policy.sharing, live=True)
    try:
        sight = look(kubeconfig, context, world, policy.ours, policy.asks)
    except (AccessError, LookError) as error:
        raise Mistake(str(error)) from None
    for line in sight.lines:
        complain(line)
    return sight.now
