#!/usr/bin/env python3
"""How often `farloop advise` finds the group that an exhaustive sweep finds; writes the table of docs/advise.md.

scripts/studies/advise_check.py STORE

Finished runs are kept in the directory STORE; fifteen minutes on two cores
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from farloop.experiments.execution import Execution
from farloop.output.store import Store
from farloop.scenario import Scenario
from farloop.statistics import Interval
from farloop.studies.advice import answer as answers
from farloop.studies.advice import question, racing
from farloop.studies.advice.runs import Ask, Runs

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import page_tables  # noqa: E402

PAGE = ROOT / "docs" / "advise.md"

BUDGET = "5min"
EXHAUSTIVE, FIRST = 20, 10_000
"""Seeds of the sweep, and the first of them: none that advice takes."""

CANDIDATES = "dctcp,dcqcn,timely,swift,hpcc,gear,gear-plus,poseidon,powertcp,gemini"

NETWORK = """\
title = "{title}"
[run]
duration = "{duration}"
[network]
topology = "datacenters"
fabric = "spine-leaf"
spines = 2
leaves = 2
hosts_per_leaf = 2
rate = "10Gbps"
fabric_rate = "40Gbps"
link_delay = "2us"
border = "dci"
wan_rate = "{wan}"
wan_delay = "{delay}"
[switch]
buffer = "4MB"
kmin = "60kB"
kmax = "120kB"
[transport]
kind = "rdma"
rto_cross = "20ms"
[algorithm]
name = "dctcp"
[algorithm.gemini]
ecn_threshold = "60kB"
[[workload]]
name = "web"
sizes = "websearch"
load = {load}
cross_share = {share}
stop = "{stop}"
[record]
flows = []
"""

FAR = NETWORK.format(title="Far", duration="60ms", wan="20Gbps", delay="2ms", load=0.5, share=0.3, stop="15ms")
NEAR = NETWORK.format(title="Near", duration="50ms", wan="40Gbps", delay="500us", load=0.7, share=0.2, stop="40ms")
IDLE = NETWORK.format(title="Idle", duration="20ms", wan="40Gbps", delay="100us", load=0.02, share=0.2, stop="10ms")
TCP = (ROOT / "examples" / "two-sites.toml").read_text("utf-8")

CASES = {
    "all flows, far": (FAR, "p99 slowdown", ("none",)),
    "queue delay, near": (NEAR, "queue delay", ("none",)),
    "median flow, near": (NEAR, "p50 slowdown", ("none",)),
    "all flows, over TCP": (TCP, "p99 slowdown", ("none",)),
    "small flows, over TCP": (TCP, "p99 slowdown of small flows", ("none",)),
    "a tie": (IDLE, "goodput", ("none",)),
}
"""Networks and goals: in all but the last the sweep tells its best group from the next candidate, in the last nothing competes."""


def ask(name: str, seed: int) -> question.Question:
    """The question of a case under a seed."""
    text, goal, must = CASES[name]
    return question.read(
        Scenario.from_text(text), goal=goal, must=must, candidates=CANDIDATES, budget=BUDGET, seed=seed, tune=False
    )


def exhaustive(name: str, runs: Runs) -> tuple[list[str], dict[str, Interval]]:
    """The best group over the sweep's seeds, and each candidate's multiple of the best."""
    asked = ask(name, FIRST)
    candidates, _ = answers.candidates_of(asked)
    asks = [
        (c.name, Ask(f"{c.name}, seed {seed}", c.algorithm, c.scenario.override(seed=seed)))
        for c in candidates
        for seed in range(FIRST, FIRST + EXHAUSTIVE)
    ]
    rows = []
    for (who, _), answered in zip(asks, runs.ask([a for _, a in asks]), strict=True):
        assert answered.measured is not None, answered.because
        rows += racing.apply_cost([answered.measured], asked, who)
    ranking = racing.standings(rows, constraints=asked.must)
    return [s.algorithm for s in ranking if s.group == 1], {s.algorithm: s.against_best for s in ranking}


def check(name: str, store: Path, execution: Execution) -> list[str]:
    """A row of the table."""
    runs = Runs(Store(store), lambda: execution.engine(store))
    best, multiples = exhaustive(name, runs)
    hits, sizes, spent = 0, [], []
    for seed in range(1, 1000, 100):
        before = runs.spent
        asked = ask(name, seed)
        candidates, _ = answers.candidates_of(asked)
        race = racing.race(candidates, asked, runs, answers.RACE * asked.budget)
        leaders = [place.candidate.name for place in race.leaders]
        hits += set(leaders) == set(best)
        sizes.append(len(leaders))
        spent.append((runs.spent - before) / 60)
        print(name, seed, leaders, "exhaustive:", best, race.seeds, race.is_decided, flush=True)  # noqa: T201
    behind = min((m for a, m in multiples.items() if a not in best), key=lambda m: m.estimate or 0.0, default=None)
    return [
        name,
        str(len(multiples)),
        ", ".join(best) if behind else "all",
        "" if behind is None else f"{behind.estimate:.2f} × (from {behind.low:.2f})",
        f"{hits} of 10",
        f"{sum(spent) / 10:.1f} min",
    ]


def main() -> int:
    """Checks all cases and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path, help="where finished runs are kept")
    store: Path = parser.parse_args().store
    heads = ["question", "candidates", "best group of 20 seeds", "next", "found", "spent"]
    rows: list[list[str]] = []
    with Execution() as execution:
        for name in CASES:
            rows.append(check(name, store.absolute(), execution))
            # After each, since they take minutes.
            content = page_tables.table(heads, rows, others="---")
            PAGE.write_text(
                page_tables.place(PAGE.read_text("utf-8"), "check", "studies/advise_check.py", content),
                encoding="utf-8",
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
