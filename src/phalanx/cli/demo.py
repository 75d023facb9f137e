"""`phalanx demo`: three disasters of a pod-by-pod scheduler in the terminal, and Phalanx avoiding each."""

from typing import Annotated

from cyclopts import App, Parameter


def register(app: App) -> None:
    """Add the command."""
    app.command(demo)


def demo(
    *,
    story: str | None = None,
    fast: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Play three stories: what a pod-by-pod scheduler does to a GPU cluster, and what Phalanx does.

    Parameters
    ----------
    story
        Play this one alone: deadlock, fragmentation or packing.
    fast
        Do not pause between the steps. Without a terminal there is no pause.
    """
    # Arrays and the engine are loaded only now: `phalanx --help` does without.
    from phalanx.cli import storytelling  # noqa: PLC0415

    storytelling.run(story, fast=fast)
