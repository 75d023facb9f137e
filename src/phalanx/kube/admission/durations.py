"""Durations as our reader takes them, for the API server's language: its own reader of them differs and may fail."""

from phalanx.dialects.timestamps import DURATION_MAX, SECONDS
from phalanx.kube.admission.expressions import choice, pattern
from phalanx.model.duration import PART, UNITS, WHOLE


def seconds(value: str) -> str:
    """Return the seconds that a text stands for; below zero: it is no duration, or one of more than ten years."""
    # The longest unit first: 5ms ends in s too.
    units = sorted(UNITS.items(), key=lambda one: -len(one[0]))
    scale = choice([(f"p.endsWith('{unit}')", f"{scale:.9f}") for unit, scale in units], "1.0")
    total = f"""x.findAll(r"{PART.pattern}").map(p, double(p.find(r"[0-9.]+")) * {scale}).sum()"""
    read = choice(
        [
            ("x.size() > 64", "-1.0"),
            (f"x.matches({pattern(SECONDS.pattern)})", "double(x)"),
            (f"x.matches({pattern(WHOLE.pattern)})", total),
        ],
        "-1.0",
    )
    return f"[{value}].map(x, {read}).map(s, s > {DURATION_MAX}.0 ? -1.0 : s)[0]"
