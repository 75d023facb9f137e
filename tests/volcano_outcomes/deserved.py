"""What each queue deserves by Volcano's plugin proportion, in its real numbers: groups that fit nowhere count too."""

from collections.abc import Mapping

from tests.volcano_outcomes.cases import GPU, Case
from tests.volcano_outcomes.ours import amounts, asks

RESOURCES = ("cpu", "memory", GPU)
_ROUNDS = 50
_LITTLE = 1e-6


def deserved(case: Case) -> dict[str, dict[str, float]]:
    """Divide what there is by weight, round after round, among queues that do not have all they ask for."""
    left: dict[str, float] = {
        name: sum(amounts(node["status"]["allocatable"])[name] for node in case.nodes) for name in RESOURCES
    }
    specs = {queue["metadata"]["name"]: queue["spec"] for queue in case.queues}
    bound = {
        queue: {
            name: min(left[name], amounts(spec.get("capability") or {}).get(name, left[name])) for name in RESOURCES
        }
        for queue, spec in specs.items()
    }
    wanted = {queue: dict.fromkeys(RESOURCES, 0.0) for queue in specs}
    for group in case.groups:
        for name in RESOURCES:
            wanted[group[0]["spec"]["queue"]][name] += asks(group)[name] * (len(group) - 1)
    shares = {queue: dict.fromkeys(RESOURCES, 0.0) for queue in specs}
    hungry = [queue for queue in specs if any(wanted[queue].values())]
    for _ in range(_ROUNDS):
        weights = sum(specs[queue]["weight"] for queue in hungry)
        given = dict.fromkeys(RESOURCES, 0.0)
        for queue in list(hungry):
            before, share = dict(shares[queue]), shares[queue]
            for name in RESOURCES:
                share[name] = min(share[name] + left[name] * specs[queue]["weight"] / weights, bound[queue][name])
            full = all(wanted[queue][name] <= share[name] for name in RESOURCES)
            for name in RESOURCES:
                share[name] = min(share[name], wanted[queue][name])
                given[name] += share[name] - before[name]
            if full or share == before:
                hungry.remove(queue)
        left = {name: left[name] - given[name] for name in RESOURCES}
        if not hungry or not any(given.values()):
            break
    return shares


def beyond(case: Case, running: Mapping[str, int], name: str) -> bool:
    """Tell whether more of a group would bring its queue beyond what it deserves, in something that is asked for."""
    group = next(group for group in case.groups if group[0]["metadata"]["name"] == name)
    queue, minimum, has = group[0]["spec"]["queue"], group[0]["spec"]["minMember"], running.get(name, 0)
    more = minimum - has if has < minimum else 1
    share = deserved(case)[queue]
    for resource, amount in asks(group).items():
        used = sum(
            running.get(one[0]["metadata"]["name"], 0) * asks(one)[resource]
            for one in case.groups
            if one[0]["spec"]["queue"] == queue
        )
        if used + more * amount > share[resource] + _LITTLE:
            return True
    return False
