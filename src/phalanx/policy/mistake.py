"""The one error of this folder, apart from all else: whoever catches it need not load what raises it."""


class PolicyError(ValueError):
    """A policy that cannot be used. Its text is one line per mistake, each for a person."""
