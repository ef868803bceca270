"""`farloop new-algorithm`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from farloop.commands.command import handle_errors
from farloop.commands.declarations import declare_command
from farloop.errors import FarloopError


@declare_command(
    "new-algorithm",
    group="Develop",
    place=1,
    summary="Start an algorithm of your own in Rust.",
    examples=("farloop new-algorithm my-vegas",),
)
@handle_errors
def new_algorithm(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name: lower case letters, digits and hyphens.")],
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE.py",
            help="Begin with a Python class: take over its parameters and needs, and test against its behaviour.",
        ),
    ] = None,
    crate: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --from: write a separate crate into DIR, which uses this checkout."),
    ] = None,
) -> None:
    """Start a new algorithm in Rust: write its file, registry entry and page into this checkout, or a separate crate."""
    from farloop.new_algorithm import scaffold

    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise FarloopError("the working directory has been deleted; go to a checkout of farloop") from None
    if crate is not None and from_ is None:
        raise FarloopError(
            "--crate: expected --from as well; examples/plugin-algorithm is a crate to begin from nothing"
        )
    if crate is not None and from_ is not None:
        written = scaffold.create_crate(name, here, crate, source=from_)
        hint = f"translate the handlers in {crate}/src/lib.rs, then `cargo test` and `cargo run -- SCENARIO` there"
    else:
        written = scaffold.create(name, here, source=from_)
        do = "translate its handlers" if from_ else "write it"
        hint = f"describe it in spec/{name}.md, {do}, run `make accept`, `cargo test -p farloop-cc` and `make build`"
    for path in written:
        typer.echo(f"wrote {path}")
    typer.echo(f"next: {hint}")
