"""Forms in which results show themselves: as a figure, and in notebooks. Results know no view; `farloop` sets what draws them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Renderer(Protocol):
    """Draws results: the module `farloop.views.notebook`."""

    def plot(
        self,
        result: object,
        *,
        metric: str | None = None,
        kind: str | None = None,
        group: str | None = None,
        size: str | None = None,
        style: str = "screen",
        width: str | None = None,
        height: str | None = None,
    ) -> Figure:
        """Draws one metric of a result, as `Drawable.plot` describes."""
        ...

    def as_html(self, result: object) -> str:
        """Returns a result as a fragment of HTML."""
        ...


_load_renderer: Callable[[], Renderer]


def set_renderer(load: Callable[[], Renderer]) -> None:
    """Sets the function that loads the renderer. It is called when a result is drawn, so that other users do not wait for it."""
    global _load_renderer
    _load_renderer = load


class Drawable:
    """A result with figures, and a form for notebooks."""

    def plot(
        self,
        metric: str | None = None,
        kind: str | None = None,
        *,
        group: str | None = None,
        size: str | None = None,
        style: str = "screen",
        width: str | None = None,
        height: str | None = None,
    ) -> Figure:
        """Draws one metric, as `farloop plot` does; notebooks show the figure, `savefig` writes it.

        Args:
            metric: A number such as "p99_slowdown", an identifier of a measure, a curve such as "throughput"; by default what suits `kind`.
            kind: "bars", "cdf", "time" or "heatmap"; by default bars.
            group: "intra", "cross", "all", or several of them with commas between: flows of these groups.
            size: Flows of this class of sizes, such as "small".
            style: "screen" or "paper".
            width: Such as "3.3in" or "84mm"; by default the style's.
            height: Likewise; by default what is needed.

        Raises:
            FarloopError: the result has no such metric or kind; the text says what is accepted.
        """
        return _load_renderer().plot(
            self, metric=metric, kind=kind, group=group, size=size, style=style, width=width, height=height
        )

    def _repr_html_(self) -> str:
        return _load_renderer().as_html(self)
