"""The command line's option --jitter."""

from typing import Annotated

import typer

from farloop.jitter import MOST_JITTER

JitterOption = Annotated[
    int,
    typer.Option(
        "--jitter",
        metavar="N",
        min=0,
        max=MOST_JITTER,
        help="Run each simulation (of the first seed) N more times, which differ only in the order of simultaneous events and in "
        "starts by less than a packet's time; numbers that move are marked as fragile. N = 3 makes four runs of one.",
    ),
]
ArenaJitterOption = Annotated[
    int,
    typer.Option(
        "--jitter",
        metavar="N",
        min=0,
        max=MOST_JITTER,
        help="Run each simulation of the first seed N more times, which differ only in the order of simultaneous events and in "
        "starts by less than a packet's time; scores that move are marked as fragile. With three seeds the default makes nine "
        "simulations of six (same starts are not varied); 0 for none.",
    ),
]
