"""What `phalanx nodes` does: fill a world from files or from a cluster, and show its nodes."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from phalanx.cli.lines import print_lines
from phalanx.cli.node_rows import node_rows
from phalanx.cli.node_text import node_table
from phalanx.cli.worlds import chosen, fill, look_at
from phalanx.world.world import World


@dataclass(frozen=True, slots=True)
class Wish:
    """The options of the command."""

    #: Without any, a cluster is shown.
    files: Sequence[str]
    output: str
    kubeconfig: str | None
    context: str | None
    policy: str
    scheduler_names: tuple[str, ...]


def run(wish: Wish) -> None:
    """Look and print; raise `Mistake` for what the user must mend."""
    policy = chosen(wish.policy, wish.scheduler_names)
    world = World(policy.label_keys, policy.devices)
    if wish.files:
        fill(world, wish.files, policy)
    else:
        look_at(wish.kubeconfig, wish.context, world, policy)
    # What a pod counts as may depend on others, that came after it; a snapshot has all of it worked out.
    world.compile(0.0)
    rows = node_rows(world, policy.devices)
    if wish.output in {"text", "wide"}:
        wide = wish.output == "wide"
        width = shutil.get_terminal_size()[0] if sys.stdout.isatty() and not wide else None
        print_lines(node_table(rows, wide=wide, width=width, encoding=sys.stdout.encoding))
        return
    document = {"nodes": [row.document() for row in rows]}
    if wish.output == "json":
        print(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
    else:
        print(msgspec.yaml.encode(document).decode(), end="")
