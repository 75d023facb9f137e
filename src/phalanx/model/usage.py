"""What a policy remembers of the past: over which window, and how fast it fades."""

from dataclasses import dataclass

from phalanx.model.duration import Seconds

_WEEK = Seconds(7 * 86_400.0)


@dataclass(frozen=True, slots=True)
class Memory:
    """Use counts for so many seconds; with a half-life, what is older counts less."""

    window: Seconds = _WEEK
    half_life: Seconds | None = None

    def __post_init__(self) -> None:
        if not 60 <= self.window <= 366 * 86_400:
            raise ValueError(f"window: found {self.window:g} s, allowed is 1m to 366d")
        if self.half_life is not None and not 60 <= self.half_life <= 366 * 86_400:
            raise ValueError(f"halfLife: found {self.half_life:g} s, allowed is 1m to 366d")
