"""How the demo looks: pictures step by step, an ending for each policy, and a verdict."""

import textwrap
import time
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from phalanx.cli.output import Mistake
from phalanx.model.quantity import shown
from phalanx.policy.load import load_policy
from phalanx.policy.spelling import nearest
from phalanx.sim.duration import written
from phalanx.sim.ending import ending, first_to_start
from phalanx.sim.picture import Palette, draw, family, legend
from phalanx.sim.report import Report, report
from phalanx.sim.scenario import read_scenario
from phalanx.sim.stories import STORIES, Frame, Story, play, story_text

#: The baseline and ours, with what to say of them.
_POLICIES = {
    "pod-by-pod": "every pod decided alone, as kube-scheduler does by default",
    "default": "Phalanx, all together or not at all",
}
_PAUSE_SECONDS = 0.25
#: Words beside the picture need this much room; else they go below it.
_WORDS_MIN = 30
_TIME_WIDTH = 9


def run(name: str | None, *, fast: bool) -> None:
    """Play the stories that were asked for."""
    chosen = _chosen(name)
    console = Console(highlight=False)
    pause = _PAUSE_SECONDS if console.is_terminal and not fast else 0.0
    verdicts: list[tuple[Story, Report]] = []
    for number, story in enumerate(chosen, start=1):
        palette = Palette()
        families = dict.fromkeys(family(pod.name) for pod in read_scenario(story.text).pods)
        console.print(Rule(Text(f" {number}  {story.title} ", style="bold"), align="left"))
        console.print(Text(_introduction(story.text), style="italic"))
        console.print(legend(families, palette), end="\n\n")
        verdicts += [(story, _played(console, story, policy, palette, pause)) for policy in _POLICIES]
        if story.encore is not None:
            _encore(console, *story.encore)
    _verdict(console, verdicts)


def _chosen(name: str | None) -> Sequence[Story]:
    names = {story.name: story for story in STORIES}
    if name is None:
        return STORIES
    if name not in names:
        meant = nearest(name, names)
        guess = f"; did you mean {meant}?" if meant else ""
        raise Mistake(f"demo: --story: found {shown(name)}, allowed are {', '.join(names)}{guess}")
    return (names[name],)


def _introduction(scenario: str) -> str:
    """Return the comment at the head of a scenario as a paragraph."""
    return " ".join(line.lstrip("# ") for line in scenario.splitlines() if line.startswith("#"))


def _played(console: Console, story: Story, policy: str, palette: Palette, pause: float) -> Report:
    """Show one story under one policy, step by step."""
    console.print(Text.assemble((policy, "bold"), f": {_POLICIES[policy]}"))
    simulator, frames = play(story.text, load_policy(policy))
    seen: list[Frame] = []
    for frame in frames:
        _show(console, frame, palette, changed=not seen or frame.rows != seen[-1].rows)
        seen.append(frame)
        time.sleep(pause)
    for sentence in ending(simulator, seen):
        _sentence(console, "⇒ ", sentence)
    console.print()
    return report(simulator)


def _show(console: Console, frame: Frame, palette: Palette, *, changed: bool) -> None:
    """Show one step: the time, the nodes if they look different now, and what happened."""
    line = Text(f"{written(frame.moment.now):>{_TIME_WIDTH - 2}}  ")
    if changed:
        line.append(Text("  ").join(draw(row, palette) for row in frame.rows))
    gap = 2 if changed else 0
    beside = console.width - line.cell_len - gap >= _WORDS_MIN
    indent = line.cell_len + gap if beside else _TIME_WIDTH
    wrapped = [part for words in frame.lines for part in textwrap.wrap(words, max(console.width - indent, _WORDS_MIN))]
    if beside:
        line.append(" " * gap + wrapped.pop(0))
    console.print(line)
    for part in wrapped:
        console.print(Text(" " * indent + part))


def _encore(console: Console, scenario: str, question: str) -> None:
    """Say how Phalanx ends another version of the story."""
    simulator, frames = play(story_text(scenario), load_policy("default"))
    seen = list(frames)
    _sentence(console, "⇒ ", f"{question}, {first_to_start(simulator)}: {' '.join(ending(simulator, seen))}")
    console.print()


def _sentence(console: Console, mark: str, text: str) -> None:
    indent = " " * _TIME_WIDTH
    for line in textwrap.wrap(
        text, console.width, initial_indent=indent + mark, subsequent_indent=indent + " " * len(mark)
    ):
        console.print(Text(line, style="bold"))


def _verdict(console: Console, verdicts: list[tuple[Story, Report]]) -> None:
    console.print(Rule(Text(" The verdict ", style="bold"), align="left"))
    table = Table("story", "policy", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in ("started", "makespan", "idle", "held idle", "fragmented"):
        table.add_column(column, justify="right")
    for position, (story, found) in enumerate(verdicts):
        use = found.device
        table.add_row(
            story.name if position % len(_POLICIES) == 0 else "",
            found.policy,
            f"{found.started} of {found.gangs}",
            written(found.makespan) if found.makespan is not None else "never",
            f"{1 - use.working:.0%}",
            f"{use.held - use.working:.0%}",
            f"{found.fragmentation:.0%}" if found.fragmentation is not None else "none free",
            end_section=position % len(_POLICIES) == len(_POLICIES) - 1,
        )
    console.print(table)
    console.print(
        "idle: GPUs (or dongles) that do no work, over time; held idle: those among them that a gang holds and "
        "cannot use; fragmented: free ones on nodes that are partly used.",
        style="dim",
    )
