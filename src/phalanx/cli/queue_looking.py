"""What `phalanx queues` does: fill a world from files or from a cluster, and show its queues."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from phalanx.cli.output import Mistake
from phalanx.cli.queue_accounts import Accounts, accounts
from phalanx.cli.queue_bar import signs_for
from phalanx.cli.queue_tree_text import resources_shown, show, terminal_width, tree
from phalanx.cli.worlds import chosen, fill, look_at
from phalanx.dialects.mistakes import Mistakes
from phalanx.dialects.timestamps import moment
from phalanx.model.quantity import shown
from phalanx.policy.spelling import nearest
from phalanx.sim.cycles import begin
from phalanx.sim.words import SHORT
from phalanx.world.world import World


@dataclass(frozen=True, slots=True)
class Source:
    """Where the queues are: in files, or, without any, in a cluster."""

    files: Sequence[str]
    now: str | None = None
    kubeconfig: str | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """The options of the command."""

    source: Source
    output: str
    resources: tuple[str, ...]
    width: int | None
    policy: str
    scheduler_names: tuple[str, ...]


def run(wish: Wish) -> None:
    """Look and print; raise `Mistake` for what the user must mend."""
    now = None if wish.source.now is None else _moment(wish.source.now)
    policy = chosen(wish.policy, wish.scheduler_names)
    world = World(policy.label_keys, policy.devices)
    world.queues.read_charges(policy.charges)
    world.remember(policy.share.memory if policy.share else None)
    if wish.source.files:
        fill(world, wish.source.files, policy)
        now = begin(world, now)
    else:
        now = look_at(wish.source.kubeconfig, wish.source.context, world, policy)
    found = accounts(world, policy, now)
    resources = _resources(wish.resources, found)
    if wish.output == "text":
        width = terminal_width() if wish.width is None else wish.width
        show(tree(found, resources, width, signs_for(sys.stdout.encoding)))
        return
    document = {"queues": [account.document() for account in found.queues]}
    if wish.output == "json":
        print(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
    else:
        print(msgspec.yaml.encode(document).decode(), end="")


def _moment(text: str) -> float:
    mistakes = Mistakes(strict=False)
    now = moment(text, "--now", mistakes)
    if now is None:
        raise Mistake(f"queues: {mistakes.first}")
    return now


def _resources(asked: Sequence[str], found: Accounts) -> list[str]:
    if not asked:
        return resources_shown(found)
    names = [SHORT.get(name, name) for name in asked]
    for name, given in zip(names, asked, strict=True):
        if name not in found.total:
            listed = ", ".join(found.total) or "none, since no queue lists any"
            meant = nearest(given, found.total)
            guess = f"; did you mean {meant}?" if meant else ""
            raise Mistake(
                f"queues: --resource: found {shown(given)}, allowed is what some queue lists: {listed}{guess}"
            )
    return list(dict.fromkeys(names))
