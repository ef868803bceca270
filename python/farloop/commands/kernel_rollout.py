"""`farloop kernel rollout`: give connections of this host an algorithm step by step, and take it back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from farloop.commands.command import EXIT_DIFFERENT, handle_errors, print_json
from farloop.commands.declarations import show_examples
from farloop.commands.help_groups import WholeLines
from farloop.units import count_text, rate_text, time_text

if TYPE_CHECKING:
    from typer._click import Context

    from farloop.kernel.rollout.rollout_plan import RolloutPlan


class PlanFirst(WholeLines):
    """A group of commands whose first word may be a plan: `farloop kernel rollout PLAN.toml` means `... run PLAN.toml`."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parses the words."""
        if args and args[0].endswith(".toml") and args[0] not in self.commands:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=PlanFirst,
    help="Give connections of this host an algorithm, a share at a time; watch, commit or take back (docs/rollout.md).",
    no_args_is_help=True,
    rich_markup_mode=None,
)

PlanArgument = Annotated[Path, typer.Argument(metavar="PLAN.toml", help="The plan (docs/rollout.md).")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The plan's name, plan.name of its file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command(**show_examples("farloop kernel rollout check plan.toml", "farloop kernel rollout check plan.toml --host"))
@handle_errors
def check(
    file: PlanArgument,
    host: Annotated[bool, typer.Option("--host", help="Check what this host needs for it, too.")] = False,
) -> None:
    """Read a plan, and print what it would do. Needs no privileges and changes nothing."""
    from farloop.kernel.rollout.rollout_plan import read_plan

    plan = read_plan(file)
    for line in _dry_run(plan):
        typer.echo(line)
    if host:
        from farloop.kernel.rollout.host_checks import problems_of

        problems = problems_of(plan)
        for line in problems:
            typer.echo(f"missing: {line}")
        if problems:
            raise typer.Exit(2)
        typer.echo("this host has all that the plan needs")


@app.command(
    **show_examples("farloop kernel rollout run plan.toml", "farloop kernel rollout run plan.toml --log plan.jsonl")
)
@handle_errors
def run(
    file: PlanArgument,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Append the log, lines of JSON, to FILE; PLAN.jsonl if not given."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Carry a plan out: canary, wider shares, verdict, commit. Ends with code 1 if the plan was taken back."""
    from farloop.kernel.rollout.notify import notify
    from farloop.kernel.rollout.rollout_plan import read_plan
    from farloop.kernel.rollout.rollout_run import Rollout, WithdrawnError
    from farloop.messages import say

    plan = read_plan(file)
    rollout = Rollout(plan, log or file.with_suffix(".jsonl"), (lambda _line: None) if quiet else typer.echo, notify)
    try:
        result = rollout.run()
    except WithdrawnError as error:
        say(f"farloop: {error}")
        raise typer.Exit(EXIT_DIFFERENT) from None
    if not quiet:
        typer.echo(f"{plan.name}: {result}")


@app.command(**show_examples("farloop kernel rollout predict plan.toml"))
@handle_errors
def predict(file: PlanArgument, as_json: JsonOption = False) -> None:
    """Simulate the plan's scenario with 0, 5, 50 and 100 % of its flows moved, and print what both kinds of flows get."""
    from farloop.kernel.rollout.predict import predict_shares
    from farloop.kernel.rollout.rollout_plan import read_plan

    rows = predict_shares(read_plan(file))
    if as_json:
        print_json(rows)
        return
    typer.echo("share   moved, per flow   unmoved, per flow   all flows   smoothed RTT   retransmitted")
    for row in rows:
        moved, unmoved = (rate_text(v) if (v := row[key]) is not None else "–" for key in ("moved_bps", "unmoved_bps"))
        rtt = time_text(row["rtt_s"]) if row["rtt_s"] is not None else "–"
        typer.echo(
            f"{row['share']:>5.0%}   {moved:>15}   {unmoved:>17}   {rate_text(row['all_bps']):>9}   {rtt:>12}   "
            f"{row['retransmissions']:>12.3%}"
        )


@app.command(**show_examples("farloop kernel rollout status", "farloop kernel rollout status far-gemini --json"))
@handle_errors
def status(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A plan's name; all plans if not given.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Show plans that run or are committed, with their connections."""
    from farloop.kernel.rollout.standing import list_plans

    states = list_plans(name)
    if as_json:
        print_json(states)
        return
    for state in states:
        moved = count_text(state["living"]["moved"], "connection")
        typer.echo(
            f"{state['plan']}: {state['state']}, {state['control']} for {state['share']:.3g} of the class, {moved} moved"
        )
        for where, why in state["unseen"].items():
            typer.echo(f"  not seen: network namespace {where}: {why}")
    if not states:
        typer.echo("no plan runs or is committed")


@app.command(**show_examples("farloop kernel rollout commit far-gemini"))
@handle_errors
def commit(name: NameArgument) -> None:
    """Have a running plan stay, without its process, until `undo` or a reboot: pins it below /sys/fs/bpf/farloop."""
    from farloop.kernel.rollout.standing import commit_plan

    typer.echo(f"{name} is committed: {commit_plan(name)}")


@app.command(**show_examples("farloop kernel rollout undo far-gemini"))
@handle_errors
def undo(name: NameArgument) -> None:
    """Take a plan back: connections that it moved get their former algorithm with their next round-trip sample."""
    from farloop.kernel.rollout.standing import undo_plan

    result = undo_plan(name)
    typer.echo(f"{name} is taken back")
    if result:
        typer.echo(
            f"{count_text(len(result), 'connection')} idle, and so still with the plan's algorithm until they send or end:"
        )
        for line in result[:100]:
            typer.echo(f"  {line}")


def _dry_run(plan: RolloutPlan) -> list[str]:
    """The steps of a plan, a line each."""
    role = {"connect": "opens", "accept": "accepts", "both": "opens or accepts"}[plan.role]
    ports = f", {count_text(len(plan.ports), 'port')}" if plan.ports else ""
    before = f" and have {plan.former}" if plan.former else ""
    lines = [
        f"{plan.name}: {plan.control} with {', '.join(f'{k} {v}' for k, v in plan.parameters.items())}",
        f"for connections that this host {role}, to {', '.join(map(str, plan.prefixes))}{ports}, in {', '.join(plan.namespaces)}{before}",
        f"1. watch for {time_text(plan.baseline)} without it",
    ]
    lines += [
        f"{number}. {share:.3g} of them, for {time_text(plan.hold)}" for number, share in enumerate(plan.shares, 2)
    ]
    if plan.blocks:
        lines.append(
            f"{len(lines) - 1}. {plan.blocks} blocks of {time_text(plan.block)}, half of them with all and half with none, in random order"
        )
    last = {"commit": "commit it", "wait": "wait for `commit` or `undo`", "undo": "take it back"}[plan.finish]
    lines.append(f"{len(lines) - 1}. {last}")
    bounds = ", ".join(f"{limit.key} {limit.text}" for limit in plan.limits) or "nothing but a lapse of the heartbeat"
    lines.append(f"stops and takes back at: {bounds}")
    return lines
