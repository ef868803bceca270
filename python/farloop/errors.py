"""Errors whose text is the whole message for the user."""


class FarloopError(ValueError):
    """Something that the user asked for cannot be done; the text says what, and what would work."""


class InvariantError(RuntimeError):
    """A simulation broke one of its own consistency checks: its numbers are no result."""


def shown(text: object, most: int = 80) -> str:
    """What users wrote, for a message: on one line, and not at full length where that is megabytes."""
    short = str(text)
    short = short if len(short) <= most else f"{short[: most - 20]}… ({len(short)} characters)"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short)
