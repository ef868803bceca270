"""The option of commands that simulate: runs that may take more memory than there is."""

from __future__ import annotations

from typing import Annotated

import typer

from farloop.memory import OPTION

ForceMemoryOption = Annotated[
    bool,
    typer.Option(
        OPTION,
        help="Start also runs that may take more memory than there is. One whose packets no longer fit ends with an error.",
    ),
]
