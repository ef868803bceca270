"""Errors whose text is the whole message for the user."""


class FarloopError(ValueError):
    """Something that the user asked for cannot be done; the text says what, and what would work."""


class InvariantError(RuntimeError):
    """A simulation broke one of its own consistency checks: its numbers are no result."""
