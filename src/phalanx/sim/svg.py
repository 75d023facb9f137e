"""Charts over time as inline SVG: stacked areas and lines, with axes in words that a person uses.

The drawing stretches to any width, the words around it do not: they are HTML, placed in percent, so that a chart is
as readable on a telephone as on a desk.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from phalanx.sim.duration import written

_WIDTH, _HEIGHT = 1000, 300
_TICKS_X, _TICKS_Y = 8, 5
_DAY = 86_400.0
#: Distances between marks on the axis of time that people count in.
_DISTANCES = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200)


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity over equal parts of the time. `colour` is the number of a colour of the page."""

    label: str
    values: Sequence[float]
    colour: int
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn: areas on top of each other, then lines over them."""

    title: str
    note: str
    #: What is counted, for the axis.
    unit: str
    end: float
    #: The highest value of the axis, where it is known; else that of what is drawn.
    top: float = 0.0
    areas: Sequence[Series] = field(default=())
    lines: Sequence[Series] = field(default=())


def chart_html(chart: Chart) -> str:
    """Return a figure: title, legend, drawing, axes. Every word in it is escaped."""
    stacked = _stacked(chart.areas)
    highest = max((max(values) for values in (*stacked, *(line.values for line in chart.lines)) if values), default=0.0)
    marks = _marks_y(max(chart.top, highest, 1e-9))
    top = marks[-1]
    paths = [
        f'<path class="area" style="fill:var(--c{area.colour})" d="{_area(upper, lower, top)}"/>'
        for area, upper, lower in zip(chart.areas, stacked, [[0.0] * len(_first(stacked)), *stacked], strict=False)
    ]
    paths += [
        f'<path class="line{" dashed" if line.dashed else ""}" style="stroke:var(--c{line.colour})" '
        f'd="{_path(line.values, top)}"/>'
        for line in chart.lines
    ]
    grid = "".join(f'<path class="grid" d="M0 {_y(mark, top)}H{_WIDTH}"/>' for mark in marks)
    times = _marks_x(chart.end)
    grid += "".join(f'<path class="grid" d="M{_WIDTH * at / chart.end:.1f} 0V{_HEIGHT}"/>' for at in times[1:])
    ys = "".join(f'<span style="top:{100 - 100 * mark / top:.2f}%">{mark:,g}</span>' for mark in marks)
    xs = "".join(
        f'<span{" class=odd" if position % 2 else ""} style="left:{100 * at / chart.end:.2f}%">{_when(at)}</span>'
        for position, at in enumerate(times)
    )
    return f"""<figure>
<h2>{escape(chart.title)}</h2>
<p>{escape(chart.note)}</p>
{_legend(chart)}
<div class="unit">{escape(chart.unit)}</div>
<div class="plot"><div class="y">{ys}</div>
<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{escape(chart.title)}">
{grid}
{"".join(paths)}
</svg>
<div class="x">{xs}</div></div>
</figure>
"""


def _legend(chart: Chart) -> str:
    entries = [(area, "box") for area in chart.areas]
    entries += [(line, "stroke dashed" if line.dashed else "stroke") for line in chart.lines]
    marks = "".join(
        f'<li><i class="{form}" style="--own:var(--c{series.colour})"></i>{escape(series.label)}</li>'
        for series, form in entries
    )
    return f'<ul class="legend">{marks}</ul>'


def _stacked(areas: Sequence[Series]) -> list[list[float]]:
    """Return the upper edge of each area: the sum of its own values and of all below."""
    edges: list[list[float]] = []
    for area in areas:
        below = edges[-1] if edges else [0.0] * len(area.values)
        edges.append([low + value for low, value in zip(below, area.values, strict=True)])
    return edges


def _first(edges: list[list[float]]) -> list[float]:
    return edges[0] if edges else []


def _y(value: float, top: float) -> str:
    return f"{_HEIGHT * (1 - value / top):.1f}"


def _path(values: Sequence[float], top: float) -> str:
    """Return the steps of a line: each value holds over its part of the width."""
    steps = [f"{'V' if at else 'M0 '}{_y(value, top)}H{_x(at + 1, values)}" for at, value in enumerate(values)]
    return "".join(steps)


def _area(upper: Sequence[float], lower: Sequence[float], top: float) -> str:
    count = len(upper)
    back = [f"V{_y(lower[at], top)}H{_x(at, upper)}" for at in reversed(range(count))]
    return f"{_path(upper, top)}{''.join(back)}Z" if count else ""


def _x(position: int, values: Sequence[float]) -> str:
    return f"{_WIDTH * position / len(values):.1f}"


def _marks_y(top: float) -> list[float]:
    """Return round marks from 0 to the first one that is not below the top."""
    size = 10.0**-12
    while True:
        for factor in (1, 2, 2.5, 5):
            step = size * factor
            # A hair over a mark is the mark: it is a sum that was rounded.
            count = max(math.ceil(top / step - 1e-6), 1)
            if count <= _TICKS_Y:
                return [float(f"{step * number:.12g}") for number in range(count + 1)]
        size *= 10


def _marks_x(end: float) -> list[float]:
    distances = [*map(float, _DISTANCES), *(_DAY * factor * 10**power for power in range(7) for factor in (1, 2, 5))]
    step = next(distance for distance in distances if end / distance <= _TICKS_X)
    return [step * number for number in range(int(end / step) + 1)]


def _when(at: float) -> str:
    return written(at) if at else "0"
