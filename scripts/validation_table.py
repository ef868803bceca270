#!/usr/bin/env python3
"""Writes what `farloop validate` found into docs/validation.md and README.md, between their markers.

farloop validate --full --out out/validation && scripts/validation_table.py out/validation

Without an argument it writes only what the repository has: the table of speeds, which validation/speed.py has measured, and those of the
fluid simulation in docs/fluid.md, which are those of validation/fluid/make.py, validation/fluid/bound.py and validation/m3/make.py.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import page_tables

from farloop.studies.validation import checks, fluid_cases, fluid_errors, fluid_records, references, relations
from farloop.studies.validation.checks import AGREES, DIFFERS, EXPLAINED, OPEN, FidelityCheck
from farloop.studies.validation.lcmp import kept as lcmp_kept
from farloop.studies.validation.relations import RelationOutcome
from farloop.views import lcmp_tables, validation_tables
from farloop.views.tabular import Cell, Table

ROOT = Path(__file__).resolve().parent.parent
PAGE, README = ROOT / "docs" / "validation.md", ROOT / "README.md"
FLUID, BOUNDS = ROOT / "docs" / "fluid.md", ROOT / "validation" / "fluid" / "bound.json"
M3 = ROOT / "validation" / "m3" / "results.json"
PICTURE = ROOT / "docs" / "images" / "fluid-errors.png"
DRAWN = ("two-sites-30", "two-sites-50", "fabric")
"""Cases of the picture: those with flows of all sizes."""
SPEED = ROOT / "python" / "farloop" / "studies" / "validation" / "references" / "speed.json"
SCRIPT = "validation_table.py"


def main() -> int:
    """Reads validation.json and writes both pages."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("output", type=Path, nargs="?", help="What `farloop validate` wrote.")
    parser.add_argument("--picture", action="store_true", help="Draw the errors of the fluid simulation, too.")
    arguments = parser.parse_args()
    output = arguments.output
    if arguments.picture:
        draw_errors()
    put(PAGE, "lcmp", over_distance())
    put(PAGE, "speed", speed(json.loads(SPEED.read_text("utf-8"))))
    put(FLUID, "fluid-errors", fluid())
    put(FLUID, "fluid-causes", causes())
    put(FLUID, "fluid-bounds", bounds(json.loads(BOUNDS.read_text("utf-8"))))
    put(FLUID, "m3", public_runs(json.loads(M3.read_text("utf-8"))))
    if output is None:
        return 0
    kept = json.loads((output / "validation.json").read_text("utf-8"))
    judged = [checks.read(row) for row in kept["checks"]]
    outcomes = [relations.read(row) for row in kept["relations"]]
    put(PAGE, "agreement", whole(judged, outcomes))
    put(README, "agreement", sentence(judged), blank="")
    return 0


def put(page: Path, name: str, text: str, *, blank: str = "\n") -> None:
    """Writes a text between the markers of its name into a page.

    Raises:
        ValueError: the page lacks a marker.
    """
    page.write_text(page_tables.place(page.read_text("utf-8"), name, SCRIPT, text, blank=blank), encoding="utf-8")


def over_distance() -> str:
    """What is kept of the comparisons with LCMP's program."""
    compared = lcmp_kept.read_recorded()
    table = page_tables.table(lcmp_tables.HEADER, lcmp_tables.rows(compared)) if compared else ""
    return "\n\n".join([textwrap.fill(" ".join(lcmp_tables.sentences(compared)), 140), table]).strip()


def speed(measured: Mapping[str, Any]) -> str:
    """What validation/speed.py measured, a row per case."""
    rows: list[list[Cell]] = []
    for name, own in measured.items():
        for case in own["cases"]:
            hops = case["packet_hops"] / 1e6
            rows.append(
                [
                    f"{name}/{case['case']}",
                    case["algorithm"],
                    f"{hops:.2f}",
                    f"{case['program_s']:.2f}",
                    f"{case['farloop_s']:.2f}",
                    f"**{case['times_faster']:.1f}**",
                    f"{case['simulation_s']:.2f}",
                    f"{hops / case['program_s']:.2f}",
                    f"{hops / case['simulation_s']:.1f}",
                    f"{case['program_bytes'] / 1e6:.0f}",
                    f"{case['farloop_bytes'] / 1e6:.0f}",
                ]
            )
    machines = dict.fromkeys(own["machine"] for own in measured.values())
    return f"{Table.from_rows(_SPEED, rows).markdown()}\nMeasured on one core of {'; '.join(machines)}."


def fluid() -> str:
    """The recorded errors of the fluid simulation: by case and algorithm, and of the mean by size of flows."""
    ways = (fluid_errors.FLUID, fluid_errors.MAX_MIN, fluid_errors.JITTER)
    runs: list[list[Cell]] = []
    by_size: list[list[Cell]] = []
    for name, algorithms in fluid_cases.load_recorded().items():
        for algorithm, classes in algorithms.items():
            every = classes[fluid_errors.ALL]
            errors = every["errors"]
            means = (" / ".join(_percent(errors[way].get(s)) for s in ("mean", "median", "p90")) for way in ways)
            ends = (" / ".join(_signed(errors[way].get(s)) for way in ways) for s in ("p99", "end"))
            runs.append([name, algorithm, str(every["flows"]), *means, *ends])
            sizes = (
                " / ".join(_percent(classes[size]["errors"][way].get("mean")) for way in ways)
                if size in classes
                else None
                for size in fluid_errors.CLASSES
            )
            by_size.append([name, algorithm, *sizes])
    heads = [*_FLUID, "p99 slowdown", "last end"], ["case", "algorithm", *fluid_errors.CLASSES]
    tables = [Table.from_rows(head, rows).markdown() for head, rows in zip(heads, (runs, by_size), strict=True)]
    return "\nMean errors by size of flows: fluid / max-min / packets with jitter, in %.\n\n".join(tables).rstrip()


def causes() -> str:
    """Recorded errors that were smaller once, and why."""
    rows: list[list[Cell]] = [
        [name, algorithm, statistic, f"{100 * before:.1f}", _signed(now), row.get(fluid_records.CAUSE, "")]
        for name, algorithms in fluid_cases.load_recorded().items()
        for algorithm, row in ((algorithm, classes[fluid_errors.ALL]) for algorithm, classes in algorithms.items())
        for statistic, (before, now) in fluid_records.find_worse(row).items()
    ]
    heads = ["case", "algorithm", "error", "once (%)", "now (%)", "cause"]
    return Table.from_rows(heads, rows).markdown().rstrip()


def draw_errors() -> None:
    """Draws the mean errors of the fluid simulation by size of flows and algorithm, beside max-min rates and packets with jitter."""
    import matplotlib.pyplot as plt

    recorded, sizes = fluid_cases.load_recorded(), list(fluid_errors.CLASSES)
    figure, axes = plt.subplots(1, len(DRAWN), figsize=(11, 4), sharey=True, layout="constrained")
    whats = {case.name: case.what.split(" (")[0].split(";")[0] for case in fluid_cases.load()}

    def means(of: Mapping[str, Any], way: str) -> list[float]:
        return [100 * of[size]["errors"][way]["mean"] for size in sizes]

    for ax, case in zip(axes, DRAWN, strict=True):
        base = [means(of, fluid_errors.MAX_MIN) for of in recorded[case].values()]
        low, high = ([extreme(column) for column in zip(*base, strict=True)] for extreme in (min, max))
        ax.fill_between(sizes, low, high, color="0.9", label="max-min, all algorithms")
        for number, (algorithm, of) in enumerate(recorded[case].items()):
            ax.plot(sizes, means(of, fluid_errors.FLUID), color=f"C{number}", marker="o", markersize=4, label=algorithm)
            ax.plot(sizes, means(of, fluid_errors.JITTER), color=f"C{number}", linestyle=":", linewidth=1)
        ax.set(title=whats[case], xlabel="payload of the flow", ylim=(0, 50))
        ax.title.set_fontsize(9)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("mean error of completion times (%)\ndotted: packets with jitter")
    axes[-1].legend(fontsize=8)
    figure.savefig(PICTURE, dpi=110)


def public_runs(results: Mapping[str, Any]) -> str:
    """The errors on the runs of m3, by algorithm and by what is held to what."""
    rows: list[list[Cell]] = [
        [name, compared, *(f"{own[statistic]:.1f}" for statistic in ("mean", "median", "p90", "p99"))]
        for name, of in results["errors"].items()
        for compared, own in of.items()
    ]
    heads = ["algorithm", "held to", "mean (%)", "median (%)", "p90 (%)", "p99 slowdown (%)"]
    return Table.from_rows(heads, rows).markdown().rstrip()


def bounds(rows: Sequence[Mapping[str, Any]]) -> str:
    """How often the bounds cover the errors, and how wide they are, by family of scenarios."""
    groups: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for row in rows:
        of = "p99 slowdown" if row["of"].startswith("99th") else "mean error"
        groups.setdefault((of, row["family"], row["part"]), []).append((row["error"], row["bound"]))
    table: list[list[Cell]] = []
    for (of, family, part), pairs in sorted(groups.items()):
        covered = sum(error <= bound for error, bound in pairs) / len(pairs)
        error, bound = (statistics.median(values) for values in zip(*pairs, strict=True))
        ratio = f"{bound / error:.1f}" if error else "–"
        table.append(
            [of, family, part, str(len(pairs)), f"{100 * covered:.0f} %", _percent(error), _percent(bound), ratio]
        )
    return Table.from_rows(_BOUNDS, table).markdown().rstrip()


def _signed(part: float | None) -> str:
    return "–" if part is None else f"{100 * part:+.1f}"


def _percent(part: float | None) -> str:
    if part is None:
        return "–"
    return f"{100 * part:.2g}" if part < 0.1 else f"{100 * part:.0f}"


_FLUID = ["case", "algorithm", "flows", "fluid: mean / median / p90", "max-min", "packets with jitter"]

_BOUNDS = ["bound of the", "family", "scenarios", "numbers", "covered", "median error (%)", "median bound (%)", "ratio"]


def sentence(judged: Sequence[FidelityCheck]) -> str:
    """For the README: how many numbers of how many algorithms are within their limits, by independent reference."""
    parts = []
    for name, own in by_reference(judged).items():
        reference = references.load(name)
        if reference.independent:
            within = sum(check.verdict == AGREES for check in own)
            algorithms = {check.algorithm for check in own}
            parts.append(f"{within} of {len(own)} beside {reference.program} ({len(algorithms)} algorithms)")
    text = (
        "[`farloop validate`](docs/validation.md) repeats the scenarios of other simulators and of Linux. These numbers are within their "
        f"limits (mostly 5 or 10 %): {', '.join(parts)}."
    )
    return textwrap.fill(text, 140, break_long_words=False, break_on_hyphens=False)


def whole(judged: Sequence[FidelityCheck], outcomes: Sequence[RelationOutcome]) -> str:
    """For the page: by reference, by algorithm and case, what is outside of its limit, and the changes that must not matter."""
    header = ["beside", "algorithms", "numbers", "within their limits", EXPLAINED, OPEN, DIFFERS]
    rows: list[list[Cell]] = []
    for name, own in by_reference(judged).items():
        reference = references.load(name)
        title = reference.title if reference.independent else f"{reference.title} (not independent)"
        counts = [sum(check.verdict == verdict for check in own) for verdict in (AGREES, EXPLAINED, OPEN, DIFFERS)]
        rows.append([title, str(len({check.algorithm for check in own})), str(len(own)), *map(str, counts)])
    parts = [
        Table.from_rows(header, rows).markdown(),
        Table.from_rows(validation_tables.OVERVIEW, validation_tables.overview(judged)).markdown(),
        explanations(judged) + "\n",
        Table.from_rows(validation_tables.RELATIONS, validation_tables.relations(outcomes)).markdown(),
    ]
    return "\n".join(parts).rstrip()


def explanations(judged: Sequence[FidelityCheck]) -> str:
    """What is outside of its limit, with the reason."""
    by_cause: dict[str, list[str]] = {}
    for check in judged:
        if check.verdict != AGREES:
            apart = validation_tables.percent(check.difference)
            where = f"{check.algorithm} beside {check.reference}/{check.case}, `{check.metric}` ({apart})"
            by_cause.setdefault(check.why or "No cause is known.", []).append(where)
    if not by_cause:
        return "No number is outside of its limit."
    items = (f"- {'; '.join(where)}. {why}" for why, where in by_cause.items())
    return "Outside of their limits:\n\n" + "\n".join(
        textwrap.fill(item, 140, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        for item in items
    )


def by_reference(judged: Sequence[FidelityCheck]) -> dict[str, list[FidelityCheck]]:
    """The checks of each reference."""
    return {
        name: [check for check in judged if check.reference == name]
        for name in dict.fromkeys(c.reference for c in judged)
    }


_SPEED = [
    "case",
    "algorithm",
    "packet-hops (millions)",
    "the program (s)",
    "farloop (s)",
    "times faster",
    "of it simulation (s)",
    "the program, millions of packet-hops/s",
    "farloop's simulation",
    "the program's memory (MB)",
    "farloop's",
]


if __name__ == "__main__":
    sys.exit(main())
