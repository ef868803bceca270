"""Loading matplotlib in half the time."""

from __future__ import annotations

import sys


def load_without_help() -> None:
    """Loads what pictures need of matplotlib without the tables of properties in its help texts, for a process that shows nobody any.

    While it is loaded, matplotlib looks through all its classes to write them; they are texts and nothing more. Not for libraries: who has
    called `import farloop` may ask for help.
    """
    if "matplotlib.artist" in sys.modules:
        return
    from matplotlib import artist

    written = getattr(artist, "kwdoc", None)
    if written is not None:
        artist.kwdoc = lambda _: ""  # type: ignore[assignment]
    try:
        import matplotlib.backends.backend_agg
        import matplotlib.figure  # noqa: F401
    finally:
        if written is not None:
            artist.kwdoc = written
