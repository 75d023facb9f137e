"""Bars beside each other: a panel per class of work, each with a scale of its own, in HTML alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar. `colour` is the number of a colour of the page; `text` says its value in words."""

    label: str
    colour: int
    value: float
    text: str
    #: What comes on top of the value, fainter.
    more: float = 0.0
    #: A second value, as a mark on the bar.
    mark: float | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """Bars that are measured by one scale: the longest of them is the whole width."""

    title: str
    bars: Sequence[Bar]


def bars_html(title: str, note: str, panels: Sequence[Panel]) -> str:
    """Return a section of panels. Every word in it is escaped."""
    return (
        f'<section><h2>{escape(title)}</h2><p>{escape(note)}</p><div class="panels">'
        f"{''.join(map(_panel, panels))}</div></section>\n"
    )


def _panel(panel: Panel) -> str:
    top = max((max(bar.value + bar.more, bar.mark or 0.0) for bar in panel.bars), default=0.0)
    rows = "".join(_bar(bar, top) for bar in panel.bars)
    return f'<div class="panel"><h3>{escape(panel.title)}</h3><dl>{rows}</dl></div>'


def _bar(bar: Bar, top: float) -> str:
    def part(value: float) -> str:
        return f"{100 * value / top if top else 0.0:.2f}%"

    own = f"--own:var(--c{bar.colour})"
    drawn = f'<i style="width:{part(bar.value)};{own}"></i>'
    drawn += f'<i class="more" style="width:{part(bar.more)};{own}"></i>' if bar.more else ""
    drawn += f'<b style="left:{part(bar.mark)}"></b>' if bar.mark is not None else ""
    return f'<dt>{escape(bar.label)}</dt><dd><span class="track">{drawn}</span><span>{escape(bar.text)}</span></dd>'
