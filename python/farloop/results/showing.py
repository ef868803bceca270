"""Forms in which results show themselves: as a figure, and in notebooks. The one way from a result up to what draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        from farloop.views import notebook

        return notebook.plot(
            self, metric=metric, kind=kind, group=group, size=size, style=style, width=width, height=height
        )

    def _repr_html_(self) -> str:
        from farloop.views import notebook

        return notebook.as_html(self)
