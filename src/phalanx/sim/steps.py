"""Steps: a value that holds from one instant to the next, and what it was on average."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from phalanx.model.axis import Float


@dataclass(frozen=True, slots=True)
class Steps:
    """A step function of time: `values[i]` holds from `times[i]` on; before the first one it is 0."""

    times: Float
    values: Float

    def at(self, times: Float) -> Float:
        """Return the values that hold at these times."""
        position = np.searchsorted(self.times, times, side="right") - 1
        return np.where(position >= 0, np.append(self.values, 0.0)[position], 0.0)

    def integral(self, times: Float) -> Float:
        """Return the area from the first step to each of these times."""
        if not self.times.size:
            return np.zeros(len(times))
        last = max(float(times.max(initial=0.0)), float(self.times[-1]))
        corners = np.append(self.times, last)
        areas: Float = np.interp(times, corners, np.append(0.0, np.cumsum(self.values * np.diff(corners))))
        return areas

    def mean(self, begin: float, end: float) -> float:
        """Return the mean over a stretch of time; of a single instant, what holds then."""
        if end <= begin:
            return float(self.at(np.array([begin]))[0])
        first, last = self.integral(np.array([begin, end])).tolist()
        return float(last - first) / (end - begin)

    def means(self, end: float, points: int) -> Float:
        """Return the means over equally long stretches from 0 to the end; none where no time passed."""
        if end <= 0 or not self.times.size:
            return np.zeros(0)
        means: Float = np.diff(self.integral(np.linspace(0.0, end, points + 1))) / (end / points)
        # Differences of large areas: what is as good as nothing is nothing.
        return np.where(np.abs(means) < 1e-9, 0.0, means)


def total(parts: Sequence[Steps]) -> Steps:
    """Return the sum of several."""
    if not parts:
        return Steps(np.zeros(0), np.zeros(0))
    times = np.unique(np.concatenate([part.times for part in parts]))
    return Steps(times, np.sum([part.at(times) for part in parts], axis=0))
