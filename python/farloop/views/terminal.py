"""Tables on the terminal."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from rich.console import Console
from rich.text import Text

from farloop.messages import printable
from farloop.results.circuit_facts import EXPLANATION, HEADER, fact_row
from farloop.results.event_facts import HEADER as EVENTS
from farloop.results.event_facts import event_rows
from farloop.results.trace import PCAPNG, PERFETTO
from farloop.results.why_job import JobExplanation, scale_text
from farloop.scenario import KERNEL
from farloop.studies.validation.references import programs
from farloop.units import bytes_text, count_text, number, time_text
from farloop.views.report.shown import PIPE_WIDTH, ratios, table

if TYPE_CHECKING:
    from farloop.results.differences import Difference
    from farloop.results.job_matrix import Interference
    from farloop.results.run import Comparison, FigureVerdicts
    from farloop.results.trace import Trace
    from farloop.results.why import Explanation
    from farloop.studies.arena.ranking import Standing
    from farloop.studies.arena.table import Result
    from farloop.studies.sweep.measures import Measure
    from farloop.studies.sweep.study import Study
    from farloop.studies.validation.checks import FidelityCheck
    from farloop.studies.validation.fluid_errors import FluidError
    from farloop.studies.validation.lcmp.flow_by_flow import LcmpComparison
    from farloop.studies.validation.relations import RelationOutcome
    from farloop.views.report.tables import Cell

MAX_ADVISED = 12
"""Candidates of an answer that are shown."""

MAX_POINTS = 40
"""Of a study's points on the terminal."""

_NEEDS = {
    "ecn": "ecn",
    "int": "int",
    "port_agent": "port_agent",
    "border_agent": "agents in switches at the borders of datacenters",
    "symmetric": "symmetric ECMP (ACKs take their data's links back)",
    "accurate_ecn": "accurate ECN echo (every mark as it came)",
    "delivery_rate": "delivery rate (TCP and multipath)",
    "even_pacing": "pacing packet by packet",
    "multipath": "multipath endpoints",
    "credit": "credit from receiving hosts",
}
"""Names of an algorithm's needs in `explain`."""

VERDICTS = ("reproduced", "direction", "differs")
"""Verdicts on a claim; all else is none."""

_STYLES = {"reproduced": "green", "direction": "yellow", "differs": "red", "partial": "dim", "not judged": "dim"}


def comparison(result: Comparison) -> None:
    """The runs side by side, as means over seeds where there are several, then what the paper claims of them, if they are of a figure."""
    from farloop.results import offered, starts
    from farloop.results.cautions import MAX_DECISIVE, by_weight, comparison_cautions
    from farloop.results.headline import headline
    from farloop.views.report.tables import (
        job_rows,
        limit_rows,
        paired_rows,
        run_rows,
        size_note,
        size_rows,
        slowdown_rows,
        start_rows,
        worst_rows,
    )

    cautions = by_weight(comparison_cautions(result))
    deadlocks(result.deadlocks)
    answer(headline(result).sentences, [caution.text for caution in cautions[:MAX_DECISIVE]])
    _print_table(*run_rows(result), title=result.title)
    for header, rows in (
        limit_rows(result),
        worst_rows(result),
        job_rows(result),
        slowdown_rows(result),
        size_rows(result),
    ):
        if rows:
            _print_table(header, rows)
    if note := size_note(result):
        _console().print(note, markup=False, highlight=False, soft_wrap=True, style="dim")
    if paired := ratios(*paired_rows(result), width=_console().width):
        _console().print(paired)
    header, rows = start_rows(result)
    alone = len({row[0] for row in rows}) < 2
    if rows and not alone:
        _print_table(header, rows)
    for line in starts.lines(result.runs) if alone else []:
        _console().print(line, markup=False, highlight=False, soft_wrap=True, style="dim")
    if line := offered.line([run.numbers["network"]["layers"] for run in result.runs]):
        _console().print(line, markup=False, highlight=False, soft_wrap=True, style="dim")
    if others := cautions[MAX_DECISIVE:]:
        counts = Counter(caution.code for caution in others)
        named = ", ".join(f"{code} ({count})" if count > 1 else code for code, count in counts.items())
        more = f"{count_text(len(others), 'more caution')}: {named}; the report and summary.json have the sentences"
        _console().print(more, markup=False, highlight=False, soft_wrap=True, style="dim")
    claims([claim for claim in result.claims if claim["verdict"] in VERDICTS])
    for claim in result.claims:
        if claim["verdict"] not in VERDICTS:
            _console().print(undecided_text(claim, result.figure), markup=False, highlight=False, soft_wrap=True)


def answer(sentences: Sequence[str], decisive: Sequence[str] = ()) -> None:
    """The answer, then the cautions that decide whether to believe it."""
    _console().print(" ".join(sentences), markup=False, highlight=False, style="bold")
    for text in decisive:
        _console().print(f"caution: {text}", markup=False, highlight=False, soft_wrap=True, style="yellow")


def undecided_text(claim: dict[str, Any], figure: str) -> str:
    """Returns one line on a claim that a comparison cannot decide; the report has the statements."""
    known = [statement for statement in claim["statements"] if statement["holds"] is not None]
    outcome = str(claim["verdict_text"])
    if claim["verdict"] == "partial":
        holding = sum(bool(statement["holds"]) for statement in known)
        outcome = (
            f"no verdict: these runs decide {len(known)} of its {len(claim['statements'])} statements ({holding} hold)"
        )
    command = "farloop testbed figure" if KERNEL in figure else "farloop reproduce"
    return f"{claim['id']}: {outcome}; `{command} {figure or claim['id']}` makes the runs that it needs"


def arena(results: Sequence[Result], algorithms: Sequence[str], seeds: int) -> None:
    """The answer, then the group of every algorithm in every scenario, or the constraint that it breaks."""
    from farloop.studies.arena.arena_answer import answer_arena

    answer([answer_arena(results, seeds)])
    for start in dict.fromkeys(result.start for result in results):
        chosen = [result for result in results if result.start == start]
        states = [{s.algorithm: _standing(s) for s in result.standings} for result in chosen]
        rows = [[a, *(of.get(a) for of in states)] for a in algorithms]
        _print_table(["group of", *(result.name for result in chosen)], rows)
        if any(result.tails for result in chosen):
            causes = [[a, *(r.tails[a].text if a in r.tails else None for r in chosen)] for a in algorithms]
            _print_table(["why the tail is slow", *(result.name for result in chosen)], causes)
    for result in results:
        if result.standings and not any(standing.state == "ranked" for standing in result.standings):
            nearest = result.standings[0]
            print(f"{result.name}: nothing holds all constraints; nearest is {nearest.algorithm}")  # noqa: T201


def _standing(standing: Standing) -> str:
    if standing.group is not None:
        return f"{standing.group}{' (fragile)' if standing.is_fragile else ''}"
    return str(standing.broken[0].constraint.quantity.name) if standing.state == "fails" else standing.state


def advice(content: Mapping[str, Any]) -> None:
    """The answer in a sentence, when it changes, the candidates that ran to the end, and what to be careful of."""
    from farloop.results.cautions import MAX_DECISIVE
    from farloop.studies.advice.advice_headline import cautions_of, headline_advice
    from farloop.views.advice_page import outlook_table

    cautions = cautions_of(content)
    answer(headline_advice(content).sentences, [text.rstrip(".") for text in cautions[:MAX_DECISIVE]])
    if content["outlook"]:
        console = _console()
        for part in outlook_table(content).terminal(console.width):
            console.print(part)
    rows = [
        [
            row["name"],
            "" if row["against_best"]["estimate"] is None else f"{row['against_best']['estimate']:.3g}",
            row["because"] or row["state"],
            str(row["seeds"]),
            row["needs"],
        ]
        for row in content["candidates"][:MAX_ADVISED]
    ]
    _print_table(
        ["candidate", "times the best", "", "seeds", "needs"], rows, title=f"for {content['question']['goal']}"
    )
    lines = []
    for tuned in content["tuned"]:
        if tuned["is_advised"]:
            settings = ", ".join(f"{name} = {value}" for name, value in tuned["settings"].items())
            lines.append(
                f"{tuned['name']}: {settings} gains: {tuned['gain']['estimate']:.3g} times the defaults' goal."
            )
    for line in [*lines, *content["notes"]]:
        _console().print(line, markup=False, highlight=False)
    for text in cautions[MAX_DECISIVE:]:
        _console().print(f"caution: {text.rstrip('.')}", markup=False, highlight=False, soft_wrap=True, style="yellow")


def plan(content: Mapping[str, Any]) -> None:
    """The answer of a plan, a row for each condition, and what was not tried."""
    from farloop.studies.capacity.capacity_answer import headline_plan
    from farloop.views.capacity_page import answers_table

    head = headline_plan(content)
    answer([*head.sentences, *([head.limit] if head.limit else [])], [])
    console = _console()
    for part in answers_table(content).terminal(console.width):
        console.print(part)
    for text in [*(note for condition in content["conditions"] for note in condition["notes"]), *content["untried"]]:
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def study(result: Study, collect: Sequence[Measure]) -> None:
    """The points of a study with their metrics, each with its 95 % confidence interval; what was made, and what was not."""
    from farloop.studies.sweep.dataset import OF_METRICS
    from farloop.studies.sweep.multiples import label, metric_text
    from farloop.studies.sweep.study_answer import answer_study

    keys = [
        name
        for name in result.points.column_names
        if name not in (*(measure.name for measure in collect), "seeds", "point")
    ]
    keys = [name for name in keys if not name.endswith(OF_METRICS)]
    rows = [
        [
            label(result.points, row, keys),
            str(row["seeds"]),
            *(metric_text(row, measure.name, measure.unit) for measure in collect),
        ]
        for row in result.points.slice(0, MAX_POINTS).to_pylist()
    ]
    metrics = [{"name": measure.name, "unit": measure.unit, "better": measure.better} for measure in collect]
    answer(answer_study(metrics, result.runs, result.points, keys))
    _print_table(["point", "seeds", *(measure.name for measure in collect)], rows, title=result.title)
    left = result.points.num_rows - len(rows)
    counts, statuses = result.counts, result.runs["status"].to_pylist()
    parts = [f"{left} more points are in points.parquet"] if left > 0 else []
    parts.append(f"{count_text(counts.made, 'run')} made, {counts.kept} kept from before")
    parts += [f"{count_text(counts.lost, 'worker')} lost"] if counts.lost else []
    parts += [f"{statuses.count(status)} {status}" for status in ("failed", "refused") if status in statuses]
    _console().print("; ".join(parts), markup=False, highlight=False)
    deadlocks(result.cautions)


def validation(
    checks: Sequence[FidelityCheck], outcomes: Sequence[RelationOutcome], errors: Sequence[FluidError] = ()
) -> None:
    """Prints how near the simulator is to its references: by algorithm, then every number that differs without a known cause."""
    from farloop.studies.validation.checks import DIFFERS
    from farloop.studies.validation.validation_headline import headline_validation
    from farloop.views import validation_tables

    answer(headline_validation(checks, outcomes, errors).sentences)
    if checks:
        _print_table(validation_tables.OVERVIEW, validation_tables.overview(checks))
    differing = [check for check in checks if check.verdict == DIFFERS]
    if differing:
        _print_table(
            validation_tables.NUMBERS,
            validation_tables.numbers(differing),
            "Outside of its limit, without a known cause",
        )
    if outcomes:
        _print_table(validation_tables.RELATIONS, validation_tables.relations(outcomes))
    if errors:
        _print_table(validation_tables.FLUID, validation_tables.fluid(errors), "Fluid simulation beside packets")
    _console().print(Text(f"{validation_tables.summary(checks, outcomes, errors)}."))


def lcmp(compared: Sequence[LcmpComparison], note: str = "") -> None:
    """Prints how near the simulator is to LCMP's program: the answer, then the numbers of each case by size."""
    from farloop.views import lcmp_tables

    if note:
        _console().print(note, markup=False, highlight=False, soft_wrap=True)
    answer(lcmp_tables.sentences(compared))
    if compared:
        _print_table(lcmp_tables.HEADER, lcmp_tables.rows(compared))


def deadlocks(sentences: Sequence[str], name: str = "") -> None:
    """A line for each PFC deadlock, and whatever else is a finding about the simulated network, not an error."""
    for deadlock in sentences:
        line = f"{name} {deadlock}".lstrip()
        _console().print(line, markup=False, highlight=False, soft_wrap=True, style="bold red")


def reproduction(done: Sequence[FigureVerdicts]) -> None:
    """The number of statements that hold in all figures, then the claims figure by figure."""
    from farloop.results.headline import answer_reproduction

    answer([answer_reproduction(done)])
    for verdicts in done:
        claims(verdicts.claims)
        deadlocks(verdicts.deadlocks, verdicts.figure)


def claims(rows: list[dict[str, Any]]) -> None:
    """Claims with verdict, the paper's numbers beside ours, and notes; of a reading what each statement says."""
    from farloop.judging.schedule import READING
    from farloop.views.report.tables import claim_rows
    from farloop.views.report.verdict_pairs import HOLDS

    console = _console()
    for claim in rows:
        console.print(
            Text.assemble(
                (claim["id"], "bold"),
                ": ",
                (claim.get("verdict_text", claim["verdict"]), _STYLES[claim["verdict"]]),
                f" ({held_text(claim)}{claim['scale']} scale)",
            ),
            highlight=False,
        )
        _, numbers = claim_rows(claim)
        for name, paper, measured in numbers:
            line = f"  {name}: {measured or '–'}" + (f" (paper {paper})" if paper else "")
            console.print(line, markup=False, highlight=False)
        for statement in claim["statements"] if claim["scale"] == READING else []:
            line = f"  {HOLDS[statement['holds']]}: {statement['text']} ({statement['evidence']})"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
        if claim["note"]:
            console.print(f"  {claim['note']}", markup=False, highlight=False, style="dim")
        for statement in claim["statements"]:
            if cause := statement.get("cause"):
                line = f"  cause, {cause['kind']}: {statement['text']}: {cause['why']}"
                page = f" (docs/findings/{cause['page']})" if cause["page"] else ""
                console.print(line + page, markup=False, highlight=False, style="dim")


def held_text(claim: dict[str, Any]) -> str:
    """Returns the number of statements of a claim that hold, before more in the same brackets; empty where none is judged."""
    return f"{claim['held']} of {claim['judged']} statements hold, " if claim.get("judged") else ""


def side_by_side(claims: Sequence[dict[str, Any]]) -> None:
    """Claims that were simulated and measured: both verdicts, and what each says of every statement."""
    from farloop.testbed import PARTS
    from farloop.views.report.verdict_pairs import HOLDS, statements

    console = _console()
    for claim in claims:
        words = [Text(claim["id"], style="bold"), Text(":")]
        for part in PARTS:
            verdict = claim[part]["verdict"] if claim[part] else "partial"
            outcome = claim[part]["verdict_text"] if claim[part] else "–"
            words += [Text(f" {part} "), Text(outcome, style=_STYLES[verdict]), Text("," if part == PARTS[0] else "")]
        console.print(Text.assemble(*words, f" ({claim['scale']} scale)"), highlight=False)
        for text, rows in statements(claim, PARTS).items():
            console.print(f"  {text}", markup=False, highlight=False)
            texts = [f"{HOLDS[row['holds']]} ({row['evidence']})" if row else "–" for row in rows]
            both = texts[0] == texts[1]
            for part, words_of_part in [("both", texts[0])] if both else zip(PARTS, texts, strict=True):
                console.print(f"    {part}: {words_of_part}", markup=False, highlight=False, soft_wrap=True)


def print_written(target: Path, *, report: bool = True) -> None:
    """Where the results are; without a report, how to have one drawn."""
    line = (
        f"report: {target / 'report.html'}" if report else f"results: {target} (`farloop report {target}` draws them)"
    )
    _console().print(line, markup=False, highlight=False, soft_wrap=True)


def print_trace(target: Path, trace: Trace) -> None:
    """Where a trace is, and how much of it."""
    older = f"; {trace.left_out} older ones did not fit the limit" if trace.left_out else ""
    line = f"trace: {target / PERFETTO} (ui.perfetto.dev), {PCAPNG} (Wireshark): {trace.records} records{older}"
    _console().print(line, markup=False, highlight=False, soft_wrap=True)


def entries(rows: Sequence[dict[str, Any]]) -> None:
    """Any list of rows that have the same keys."""
    if not rows:
        return
    header = list(rows[0])
    _print_table(header, [[_to_cell(row.get(k)) for k in header] for row in rows])


def algorithm(entry: dict[str, Any], page: Path | None = None) -> None:
    """One algorithm with its parameters, and where its page is."""
    console = _console()
    needs = [words for need, words in _NEEDS.items() if entry["needs"][need]]
    if entry["needs"].get("header_bytes"):
        needs.append(f"{entry['needs']['header_bytes']} header bytes")
    preset = f" (a preset of {entry['preset_of']})" if entry["preset_of"] else ""
    console.print(f"{entry['name']}{preset}: {entry['summary']}", markup=False, highlight=False)
    console.print(f"source: {entry['source']}", markup=False, highlight=False)
    checked_against = programs(entry["name"])
    line = (
        f"checked against: {checked_against} (`farloop validate {entry['name']}`)"
        if checked_against
        else "checked against: no other program"
    )
    console.print(line, markup=False, highlight=False)
    if page:
        console.print(f"page: {page}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"needs: {', '.join(needs) or 'nothing special'}", markup=False, highlight=False)
    parameters = [
        [p["name"], _to_cell(p["default"]) or "none", p["range"] or ", ".join(p.get("choices") or []), p["doc"]]
        for p in entry["params"]
    ]
    if parameters:
        _print_table(["parameter", "default", "accepted", "meaning"], parameters)


def scenario(entry: dict[str, Any]) -> None:
    """Prints the facts of a scenario, the needs of its circuits in each of its cases, and what is most likely not meant."""
    console = _console()
    what = ", ".join(count_text(entry[key], what) for key, what in _COUNTED.items() if entry[key])
    title = f"{entry['title']}: " if entry["title"] else ""
    console.print(f"{title}{what}, {time_text(entry['end_s'])}", markup=False, highlight=False)
    named_facts = [(entry["file"], entry), *((case["case"], case) for case in entry["cases"])]
    rows = [fact_row(name, facts["circuits"]) for name, facts in named_facts if facts["circuits"]]
    if rows:
        _print_table(["case" if entry["cases"] else "scenario", *HEADER[1:]], rows)
        console.print(EXPLANATION, markup=False, highlight=False, style="dim")
    happening = [row for name, facts in named_facts for row in event_rows(name, facts["events"])]
    if happening:
        _print_table(["case" if entry["cases"] else "scenario", *EVENTS[1:]], happening)
    if entry["forecast"]:
        _forecast(entry["forecast"])
    for name, facts in named_facts:
        deadlocks(facts["notes"], f"{name}:")


def _forecast(facts: dict[str, Any]) -> None:
    """Prints the facts of a scenario that are known without a run."""
    from farloop.results import offered

    _print_table(offered.HEADER, offered.rows(facts["network"]["layers"]))
    for name, job in facts["jobs"].items():
        _console().print(_expected_job(name, job), markup=False, highlight=False, soft_wrap=True)
    memory = f"at most {bytes_text(facts['memory_bytes'])} of memory"
    if facts["packet_hops"] is None:
        run = f"a run: {memory}"
    else:
        seconds = facts["packet_hops"] / offered.HOPS_PER_SECOND
        hops = f"{facts['packet_hops'] / 1e6:,.1f} million packet-hops"
        run = f"a run: {hops}, about {time_text(seconds)} on one idle core, {memory}"
    for line in (*offered.sentences(facts["network"]), run):
        _console().print(line, markup=False, highlight=False, soft_wrap=True)
    deadlocks(facts["cautions"])


def _expected_job(name: str, job: dict[str, Any]) -> str:
    """Returns the expected times and bytes of a job's iteration, in a line."""
    ideal = "" if job["ideal_s"] is None else f", {time_text(job['ideal_s'])} on an ideal network"
    scaled = job["scale"] > 1
    unscaled = f" ({time_text(job['ideal_unscaled_s'])} with all bytes)" if scaled and job["ideal_unscaled_s"] else ""
    divided = scale_text(job["scale"])
    across = f"{bytes_text(job['bytes_across'])} across sites" if job["bytes_across"] else "nothing across sites"
    return f"an iteration of {name}: {across}{ideal}{unscaled}{divided}"


_COUNTED = {
    "hosts": "host",
    "switches": "packet switch",
    "circuit_switches": "circuit switch",
    "links": "link",
    "flows": "flow",
}


def kernel_checks(rows: Sequence[dict[str, Any]]) -> None:
    """Prints the findings of `farloop kernel doctor`."""
    cells = [["ok" if r["ok"] else "missing", r["need"], r["what"], r["found"]] for r in rows]
    _print_table(["", "for", "what", "found"], cells)


def kernel_status(status: dict[str, Any]) -> None:
    """The connections of an algorithm in the kernel."""
    _console().print(f"{status['algorithm']} is {'' if status['loaded'] else 'not '}loaded", highlight=False)
    connections = status["connections"]
    if not connections:
        return
    names = {"alpha": "alpha", "f": "F", "w_max": "W_max", "base_rtt_ms": "base RTT", "srtt_ms": "RTT", "acks": "ACKs"}
    names |= {"ecn_cuts": "ECN", "delay_cuts": "delay", "reductions": "ECN"}
    names |= {"kind": "kind", "load": "load", "acks_with_telemetry": "with telemetry"}
    own = [key for key in names if key in connections[0]]
    header = ["connection", "state", "cwnd", "ssthresh", *(names[key] for key in own), "losses"]
    rows: list[list[Cell]] = []
    for c in connections:
        ends, losses = f"{c['source']} > {c['destination']}", c["fast_retransmits"] + c["timeouts"]
        rows.append(
            [
                ends,
                c.get("state"),
                c["cwnd"],
                c.get("ssthresh"),
                *(_connection_cell(key, c[key]) for key in own),
                losses,
            ]
        )
    _print_table(header, rows, title="cwnd, ssthresh and W_max in packets; ECN and delay: reductions")


def kernel_telemetry(connections: list[dict[str, Any]]) -> None:
    """Connections that carry telemetry, and what became of it."""
    names = ("probes", "echoed", "probed", "unstamped", "echoes", "no_room", "partial")
    rows: list[list[Cell]] = [
        [f"{c['source']} > {c['destination']}", *(c[name] for name in names)] for c in connections
    ]
    title = "sender: probes sent, echoes received; receiver: probes with entries, without, echoes sent, without room, truncated"
    _print_table(
        ["connection", "probes", "echoed", "probed", "empty", "echoes", "no room", "cut short"], rows, title=title
    )


def _connection_cell(key: str, value: Any) -> Cell:
    if value is None or key not in ("alpha", "f", "w_max", "base_rtt_ms", "srtt_ms"):
        return number(value)
    if key.endswith("_ms"):
        return time_text(value / 1e3)
    return f"{value:.1f}" if key == "w_max" else f"{value:.3f}"


def explanation(explained: Explanation | JobExplanation) -> None:
    """Prints what took most of a time in a line, then its parts, largest first; the same of the flows that a flow waited for."""
    if isinstance(explained, JobExplanation):
        header = ["cause", "limit", "phase", "ranks", "where", "by", "time", "share"]
        _console().print(explained.answer, markup=False, highlight=False, soft_wrap=True)
        _print_table(header, explained.rows, title=f"where the time of {explained.title} went")
        return
    for own in explained.chain:
        _console().print(own.answer, markup=False, highlight=False, soft_wrap=True)
        _print_table(
            ["cause", "limit", "where", "by", "time", "share"], own.rows, title=f"where the time of {own.flow} went"
        )
        for line in own.paths:
            _console().print(line, markup=False, highlight=False, soft_wrap=True)
        if own.after is not None:
            began = f"{own.flow} began when {own.after['flow']} was over, at {time_text(own.after['end_ps'] / 1e12)}"
            _console().print(began, markup=False, highlight=False, soft_wrap=True)


def interference(result: Interference) -> None:
    """Prints the time of an iteration of each job alone, and how much longer it is beside the others."""
    _print_table(*result.rows(), title=result.title)


def difference(result: Difference) -> None:
    """Prints the difference between two outputs in a sentence, then the settings and the numbers that differ."""
    answer([result.answer])
    for header, rows in (result.setting_rows(), result.number_rows()):
        if rows:
            _print_table(header, rows)


def _print_table(header: Sequence[str], rows: Sequence[Sequence[Cell]], title: str = "") -> None:
    console = _console()
    console.print(table(header, rows, title, console.width))


def _to_cell(value: Any) -> Cell:
    if isinstance(value, dict):
        return ", ".join(f"{k} {number(v)}" for k, v in value.items()) or None
    return number(value)


class _Console(Console):
    def print(self, *objects: Any, **options: Any) -> None:
        """Prints texts as a terminal may take them."""
        super().print(*(printable(part) if isinstance(part, str) else part for part in objects), **options)

    def on_broken_pipe(self) -> NoReturn:
        """Leaves it to the entry point: Rich would end with an error where the reader of a pipe has gone away."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def _console() -> Console:
    console = _Console()
    return console if console.is_terminal else _Console(width=PIPE_WIDTH)
