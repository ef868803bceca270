#!/usr/bin/env python3
"""Measures gear-plus and writes the tables of docs/findings/gear-plus.md, each between its markers.

scripts/studies/gear_plus.py [TABLE ...]

TABLE is held-out, elsewhere, papers, rivals, alone, queue, mixed or ablation; by default all (half an hour on two cores). `farloop sweep`
has no measure for these tables: Jain's index and the payload over the last third of a run, of flows that differ from point to point.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import farloop
from farloop import metrics
from farloop.results import flow_completion as completion
from farloop.results.size_classes import GEMINI
from farloop.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import page_tables  # noqa: E402

PAGE = ROOT / "docs" / "findings" / "gear-plus.md"
OURS = "gear-plus"
RIVALS = ("gear", "hpcc", "poseidon", "powertcp", "swift", "dctcp", "gemini", "dcqcn", "annulus", "mlcc")
MIXES = ((1, 1), (1, 9), (9, 1), (20, 20), (1, 20), (20, 1), (4, 4))
APART_MS = 13


@dataclass(frozen=True)
class Dumbbell:
    """Flows of both kinds at one bottleneck, each starting 13 ms after the one before, intra and cross by turns."""

    intra: int
    cross: int
    gbps: int
    rtt_ms: float
    algorithm: str = OURS
    settings: tuple[tuple[str, str], ...] = ()
    rates: tuple[str, ...] = ()
    start: str = ""
    jitter: int = 0
    seconds: float | None = None

    @property
    def duration(self) -> float:
        """Two seconds, or sixty round trips across."""
        return self.seconds or max(2.0, 60 * self.rtt_ms / 1e3)

    def flows(self) -> list[tuple[str, str, str]]:
        """Name, source and destination in the order of their starts."""
        names = []
        for i in range(max(self.intra, self.cross)):
            if i < self.intra:
                names.append((f"intra{i + 1}", f"s{i + 1}", f"d{i + 1}"))
            if i < self.cross:
                names.append((f"cross{i + 1}", f"s{self.intra + i + 1}", f"r{i + 1}"))
        return names

    def base_rtt(self) -> dict[str, float]:
        """Base round-trip times of the flows inside and across, in seconds."""
        return {kind: float(each[0]) for kind, each in self.scenario().forecast["network"]["base_rtt"].items() if each}

    def scenario(self) -> Scenario:
        """The network of gear/fig09 with these rates and delays."""
        text = (
            f'[run]\nduration = "{self.duration}s"\n[network]\ntopology = "dumbbell"\nintra_pairs = {self.intra}\n'
            f'cross_pairs = {self.cross}\nrate = "{self.gbps}Gbps"\nlink_delay = "5.25us"\nwan_delay = "{self.rtt_ms / 2:g}ms"\n'
            f'[transport]\nkind = "rdma"\n[algorithm]\nname = "{self.algorithm}"\n'
            f'[record]\ninterval = "{self.duration / 60}s"\nports = ["left->right"]\nflows = ["*"]\n'
        )
        for number, (name, source, target) in enumerate(self.flows()):
            own = f'initial_rate = "{self.start}"\n' if self.start and name.startswith("cross") else ""
            text += (
                f'[[flow]]\nname = "{name}"\nfrom = "{source}"\nto = "{target}"\nstart = "{APART_MS * number}ms"\n{own}'
            )
        return Scenario.from_text(text).override({**dict(self.settings), "run.jitter": str(self.jitter)})


@dataclass(frozen=True)
class Seen:
    """What a dumbbell gave, over its last third."""

    jain: float
    fill: float
    intra: float
    cross: float
    queue: float
    paused: float
    rates: tuple[float, ...] = field(repr=False, default=())


def seen(network: Dumbbell) -> Seen:
    """Simulates a dumbbell."""
    run = farloop.run(network.scenario(), threads=1)
    names = [name for name, _, _ in network.flows()]
    rates = np.array([run.samples.get(f"flow/{name}", "throughput")[1][40:60].mean() for name in names])
    kind = {
        word: [r for name, r in zip(names, rates, strict=True) if name.startswith(word)] for word in ("intra", "cross")
    }
    return Seen(
        float(metrics.jain(rates)),
        float(rates.sum()) / (network.gbps * 1e9),
        *(float(np.mean(kind[word])) if kind[word] else 0.0 for word in ("intra", "cross")),
        float(run.samples.get("port/left->right", "queue")[1][40:].mean()),
        float(run.summary["pfc"]["paused"]),
        tuple(rates.tolist()),
    )


def all_seen(networks: Sequence[Dumbbell]) -> list[Seen]:
    """Two at a time."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(seen, networks))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table with all columns on the right."""
    return page_tables.table(heads, rows, first="---:")


def held_out() -> str:
    """Least Jain index and least fill over three variations in ties, for each network; one for those that take a minute."""
    rows = []
    for gbps, rtt_ms, count in (
        (10, 2.0, 3), (10, 10.0, 3), (10, 50.0, 3), (10, 200.0, 3), (100, 2.0, 1), (100, 10.0, 1), (100, 50.0, 1),
    ):  # fmt: skip
        networks = [Dumbbell(n, m, gbps, rtt_ms, jitter=j) for n, m in MIXES for j in range(count)]
        gear = all_seen([Dumbbell(n, m, gbps, rtt_ms, "gear") for n, m in MIXES])
        seen = all_seen(networks)
        cells = []
        for i, before in enumerate(gear):
            each = seen[i * count : (i + 1) * count]
            cells.append(f"{min(s.jain for s in each):.3f} / {min(s.fill for s in each):.2f} ({before.jain:.2f})")
        rows.append([f"{gbps} Gbps, {rtt_ms:g} ms", *cells])
    return table(["network", *(f"{n} + {m}" for n, m in MIXES)], rows)


def elsewhere() -> str:
    """As `held_out`, for numbers of flows, round-trip times and rates that had no part in the choice of parameters."""
    mixes = ((3, 7), (13, 2), (2, 13), (1, 15), (15, 1), (10, 10), (20, 3), (3, 20))
    rows = []
    for gbps, rtt_ms in ((10, 3.0), (10, 5.0), (10, 30.0), (10, 120.0), (25, 5.0), (40, 5.0)):
        seen = all_seen([Dumbbell(n, m, gbps, rtt_ms) for n, m in mixes])
        rows.append([f"{gbps} Gbps, {rtt_ms:g} ms", *(f"{s.jain:.3f} / {s.fill:.2f}" for s in seen)])
    return table(["network", *(f"{n} + {m}" for n, m in mixes)], rows)


def rivals() -> str:
    """The same cells under every rival, with its own start and with cross flows at a quarter of line rate."""
    cells = [Dumbbell(n, m, 10, rtt) for rtt in (2.0, 50.0) for n, m in ((1, 9), (9, 1), (20, 20), (4, 4))]
    rows = []
    for name in (OURS, *RIVALS):
        for start in ("", "2500Mbps"):
            if name == OURS and start:
                continue
            settings = (
                ("switch.kmin", "90kB"),
                ("switch.kmax", "90kB"),
                ("switch.ecmp", "symmetric"),
                ("wan_switch.ecmp", "symmetric"),
            )
            more = (("algorithm.gemini.ecn_threshold", "90kB"),) if name == "gemini" else ()
            try:
                seen = all_seen(
                    [Dumbbell(c.intra, c.cross, c.gbps, c.rtt_ms, name, settings + more, start=start) for c in cells]
                )
            except farloop.ScenarioError as error:
                rows.append([f"`{name}`", str(error).rpartition(": ")[2], *[""] * len(cells)])
                break
            rows.append([f"`{name}`", "C/4" if start else "own", *(f"{s.jain:.2f} / {s.fill:.2f}" for s in seen)])
    return table(["algorithm", "start", *(f"{c.intra} + {c.cross}, {c.rtt_ms:g} ms" for c in cells)], rows)


def alone() -> str:
    """One kind alone: the rate of a lone flow, and cross flows without intra flows."""
    networks = [Dumbbell(n, m, 10, 50.0) for n, m in ((1, 0), (0, 1), (2, 0), (0, 2), (0, 8), (0, 20), (0, 40))]
    wire = 1538 / 1460
    rows = [
        [
            f"{n.intra} + {n.cross}",
            f"{s.jain:.3f}",
            f"{s.fill:.3f}",
            f"{s.fill * wire:.3f}",
            f"{s.queue / 1e3:.1f}",
            f"{1e3 * s.paused:.0f}",
        ]
        for n, s in zip(networks, all_seen(networks), strict=True)
    ]
    return table(["flows", "Jain", "payload", "on the wire", "queue (kB)", "pauses (ms)"], rows)


def queue() -> str:
    """The standing queue against its closed form."""
    rows = []
    # PFC reserves headroom for each port, which 200 of 100 Gbps need more of than a dumbbell's switch has by itself.
    buffer = (("switch.buffer", "64MB"),)
    networks = [
        Dumbbell(n, 0, gbps, 50.0, settings=buffer, seconds=max(1.0, 0.02 * n))
        for gbps, counts in ((10, (5, 10, 20, 40, 100, 200)), (100, (5, 20, 100, 200)))
        for n in counts
    ]
    for network, s in zip(networks, all_seen(networks), strict=True):
        bdp = network.gbps * 1e9 / 8 * network.base_rtt()["intra"]
        predicted = max(0.0, 0.85 + 0.13 * float(np.log(network.intra)) - 1) * bdp
        rows.append(
            [
                f"{network.gbps} Gbps",
                str(network.intra),
                f"{predicted / 1e3:.1f}",
                f"{s.queue / 1e3:.1f}",
                f"{s.jain:.3f}",
            ]
        )
    return table(["rate", "equal flows", "predicted (kB)", "measured (kB)", "Jain"], rows)


def mixed() -> str:
    """Senders of different line rates, and RTT ratios from 2 to 2,000."""
    rows = []
    for ratio in (2, 5, 20, 100, 500, 2000):
        near = Dumbbell(4, 4, 10, 0.001).base_rtt()
        s = seen(Dumbbell(4, 4, 10, 0.001 + 1e3 * (ratio * near["intra"] - near["cross"])))
        rows.append(
            [f"RTT ratio {ratio}", f"{s.jain:.3f}", f"{s.fill:.2f}", f"{s.intra / 1e9:.2f}", f"{s.cross / 1e9:.2f}"]
        )
    rates = _mixed_rates()
    for kind in ("intra", "cross"):
        fast, slow = (rates[kind, gbps] for gbps in (10, 1))
        rows.append(
            [
                f"{kind} flows from cards of 10, 10, 1 Gbps",
                "",
                "",
                *(", ".join(f"{r:.2f}" for r in each) for each in (fast, slow)),
            ]
        )
    return table(
        ["network", "Jain", "payload", "intra (Gbps); cards of 10 Gbps", "cross (Gbps); cards of 1 Gbps"], rows
    )


def _mixed_rates() -> dict[tuple[str, int], list[float]]:
    """Three flows of either kind, one of each from a card of 1 Gbps, at one bottleneck of 10 Gbps: their rates in Gbps."""
    text = '[run]\nduration = "3s"\n[network]\ntopology = "links"\n'
    flows = ""
    for switch, where in (("left", 0), ("right", 0), ("far", 1)):
        text += f'[[node]]\nname = "{switch}"\nkind = "switch"\ndatacenter = {where}\n'
    text += '[[link]]\na = "left"\nb = "right"\nrate = "10Gbps"\ndelay = "5us"\n'
    text += '[[link]]\na = "right"\nb = "far"\nrate = "100Gbps"\ndelay = "25ms"\n'
    names: dict[tuple[str, int], list[str]] = {}
    for number, (kind, gbps) in enumerate((k, g) for k in ("intra", "cross") for g in (10, 10, 1)):
        peer, where = ("right", 0) if kind == "intra" else ("far", 1)
        text += f'[[node]]\nname = "s{number}"\ndatacenter = 0\n[[node]]\nname = "d{number}"\ndatacenter = {where}\n'
        text += f'[[link]]\na = "s{number}"\nb = "left"\nrate = "{gbps}Gbps"\ndelay = "5us"\n'
        text += f'[[link]]\na = "d{number}"\nb = "{peer}"\nrate = "10Gbps"\ndelay = "5us"\n'
        flows += f'[[flow]]\nname = "{kind}{number}"\nfrom = "s{number}"\nto = "d{number}"\nstart = "{APART_MS * number}ms"\n'
        names.setdefault((kind, gbps), []).append(f"{kind}{number}")
    text += f'[algorithm]\nname = "{OURS}"\n{flows}[record]\ninterval = "50ms"\n'
    run = farloop.run(Scenario.from_text(text), threads=1)
    return {
        key: [float(run.samples.get(f"flow/{name}", "throughput")[1][40:].mean()) / 1e9 for name in each]
        for key, each in names.items()
    }


def papers() -> str:
    """Gear's own settings, three seeds each where there is chance."""
    rows = []
    for name in (OURS, "gear"):
        rows += _fabric(name)
        rows += _starts(name)
    return table(["setting", "measure", "algorithm", "each seed"], rows)


def _fabric(name: str) -> list[list[str]]:
    figure = Scenario.load("gear/fabric")
    cases = {str(case["name"]): case for case in figure.resolved["case"]}
    rows = []
    for case in ("WebSearch, 80 ms", "Hadoop, 80 ms"):
        measured = []
        for seed in (1, 2, 3):
            run = farloop.run(figure.override(cases[case]["set"]).override(algorithm=name, seed=seed))
            flows, end = run.flows, run.duration
            old = completion.column(flows, "start_ps") / 1e12 < end - 0.05
            part = {}
            for kind in ("intra", "cross"):
                chosen = completion.is_kind(flows, kind) & old
                part[kind] = (
                    completion.column(flows, "delivered_bytes")[chosen].sum()
                    / completion.column(flows, "size_bytes")[chosen].sum()
                )
            small = GEMINI.masks(completion.column(flows, "size_bytes"))["small"]
            slow = completion.bound_slowdowns(flows, end)[completion.is_kind(flows, "intra") & small]
            measured.append(
                (part["intra"] / part["cross"], 1e3 * run.summary["pfc"]["paused"], np.nanpercentile(slow, 99))
            )
        for number, what in enumerate(("ratio intra / cross", "pauses (ms)", "small flows inside, p99 slowdown")):
            rows.append([f"gear/fabric, {case}", what, f"`{name}`", ", ".join(f"{f[number]:.3g}" for f in measured)])
    return rows


def _starts(name: str) -> list[list[str]]:
    rows = []
    staggered = Scenario.load(ROOT / "examples" / "gear-staggered.toml")
    rows.append(
        _jain("four and four, 100 ms apart", "Jain, 0.75 to 1 s after the last start", name, staggered, {}, 1.45, 1.7)
    )
    for intra, cross in ((20, 75), (75, 20)):
        keys = {
            "flow.intra.initial_rate": f"{intra}Gbps",
            "flow.cross.initial_rate": f"{cross}Gbps",
            "run.duration": "2s",
        }
        rows.append(
            _jain(
                f"from {intra} and {cross} Gbps", "Jain, 0.9 to 1 s", name, Scenario.load("gear/fig12"), keys, 0.9, 1.0
            )
        )
    for offset in (0, 20, 40):
        keys = {"flow.intra2.start": f"{1000 + offset}ms"}
        rows.append(
            _jain(
                f"gear/fig10, {offset} ms",
                "Jain, 0.9 to 1 s after the join",
                name,
                Scenario.load("gear/fig10"),
                keys,
                1.9,
                2.0,
            )
        )
    return rows


def _jain(
    setting: str, measure: str, name: str, base: Scenario, keys: dict[str, str], begin: float, end: float
) -> list[str]:
    indices = []
    for jitter in range(3):
        own = base.override(keys).override({"record.interval": "10ms", "run.jitter": str(jitter)}, algorithm=name)
        run = farloop.run(own)
        rates = []
        for flow in run.flows["name"].to_pylist():
            time, values = run.samples.get(f"flow/{flow}", "throughput")
            rates.append(values[(time > begin) & (time <= end)].mean())
        indices.append(float(metrics.jain(np.array(rates))))
    return [setting, measure, f"`{name}`", ", ".join(f"{v:.3f}" for v in indices)]


def ablation() -> str:
    """What each part buys, over four networks."""
    parts: dict[str, dict[str, str]] = {
        "as it is": {},
        "slope 0.001: one target": {"slope": "0.001"},
        "the whole step across (m = 1)": {"step": "1"},
        "a small step (m = 0.2)": {"step": "0.2"},
        "cross flows from line rate": {"cross_start": "1"},
        "no target for a lone flow": {"alone_from": "0.99", "eta_alone": "0.85"},
        "every u counts (most_seen = 100)": {"most_seen": "100"},
    }
    cells = [
        Dumbbell(n, m, 10, rtt)
        for n, m, rtt in ((1, 9, 50.0), (9, 1, 50.0), (20, 20, 50.0), (1, 20, 10.0), (1, 0, 50.0))
    ]
    rows = []
    for words, values in parts.items():
        settings = tuple((f"algorithm.{OURS}.{name}", value) for name, value in values.items())
        seen = all_seen([Dumbbell(c.intra, c.cross, c.gbps, c.rtt_ms, settings=settings) for c in cells])
        rows.append([words, *(f"{s.jain:.2f} / {s.fill:.2f} / {1e3 * s.paused:,.0f}" for s in seen)])
    return table(["", *(f"{c.intra} + {c.cross}, {c.rtt_ms:g} ms" for c in cells)], rows)


TABLES: dict[str, Callable[[], str]] = {
    "held-out": held_out,
    "elsewhere": elsewhere,
    "papers": papers,
    "rivals": rivals,
    "alone": alone,
    "queue": queue,
    "mixed": mixed,
    "ablation": ablation,
}


def main() -> int:
    """Measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    wanted: list[Any] = parser.parse_args().tables or list(TABLES)
    for name in wanted:
        if name not in TABLES:
            print(f"gear_plus: {name}: no such table; there is {', '.join(TABLES)}", file=sys.stderr)  # noqa: T201
            return 2
        content = TABLES[name]()
        PAGE.write_text(
            page_tables.place(PAGE.read_text("utf-8"), name, "studies/gear_plus.py", content), encoding="utf-8"
        )
        print(f"{name}\n{content}", flush=True)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
