"""The option `--same-start`."""

from __future__ import annotations

from typing import Annotated

import typer

SameStartOption = Annotated[
    str | None,
    typer.Option(
        "--same-start",
        metavar="line-rate|bdp|N",
        help="Have all flows begin alike, whatever their algorithm: at line rate, with one BDP of their path, or with N segments per base "
        "RTT. Slow start stays on where the algorithm has it.",
    ),
]

ArenaStartOption = Annotated[
    str,
    typer.Option(
        "--same-start",
        metavar="line-rate|bdp|N|own",
        help="How all flows begin in the second set of cells, in which every algorithm starts alike; own for no second set.",
    ),
]
