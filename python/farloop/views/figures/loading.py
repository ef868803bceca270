"""Loading matplotlib in half the time."""

from __future__ import annotations

import sys
import warnings

SPACE = "mpl_toolkits.mplot3d"


def load_without_help() -> None:
    """Loads what pictures need of matplotlib without the tables of properties in its help texts, for a process that shows none.

    While it is loaded, matplotlib looks through all its classes to write them; they are texts and nothing more. Nor is the third dimension
    loaded, which no picture has. Not for libraries: who has called `import farloop` may ask for help, and draw what they like.
    """
    if "matplotlib.artist" in sys.modules:
        return
    from matplotlib import artist

    # What is `None` there cannot be imported; matplotlib then goes without, and warns.
    flat = sys.modules.setdefault(SPACE, None) is None  # type: ignore[arg-type]

    written = getattr(artist, "kwdoc", None)
    if written is not None:
        artist.kwdoc = lambda _: ""  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Unable to import Axes3D")
            import matplotlib.backends.backend_agg
            import matplotlib.figure  # noqa: F401
    finally:
        if flat:
            del sys.modules[SPACE]
        if written is not None:
            artist.kwdoc = written
