"""What can go wrong with a local control plane, in words for the person who started it."""


class LocalError(Exception):
    """A local control plane cannot be built, started or used; the text says why and what helps."""


class MissingError(LocalError):
    """A program is neither installed nor can it be built here; the text says what to install."""
