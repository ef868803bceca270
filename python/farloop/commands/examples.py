"""Examples at the end of each command's help. A test parses all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.core import TyperCommand

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        "farloop run scenario.toml --set run.duration=50ms --out out/first",
        "farloop run scenario.toml --algorithm bbr --seeds 1-5",
        "farloop run scenario.toml --algorithm-file mine.py --algorithm mine",
    ),
    "compare": (
        "farloop compare scenario.toml --algorithms cubic,bbr,dctcp --seeds 1-5",
        "farloop compare gear/fig09 --algorithms gear,hpcc --jitter 3",
        "farloop compare scenario.toml --algorithms cubic,bbr --json",
    ),
    "reproduce": (
        "farloop reproduce gear/fig09",
        "farloop reproduce gemini --full --seeds 1-5 --out out/gemini",
        "farloop reproduce gear/fig09 --algorithms hpcc --set run.duration=1s",
    ),
    "arena": (
        "farloop arena --algorithms cubic,bbr,gemini",
        "farloop arena --scenario mine.toml --seeds 1-10 --must 'goodput >= 90 %'",
        "farloop arena --scenario mine.toml --over workload.load=0.3,0.5,0.8",
    ),
    "sweep": (
        "farloop sweep study.toml",
        "farloop sweep study.toml --until 'p99 slowdown ± 5 %'",
        "farloop sweep study.toml --slurm partition=short,time=2:00:00",
    ),
    "advise": (
        "farloop advise scenario.toml --budget 10min",
        "farloop advise scenario.toml --goal goodput --must 'no pfc across'",
        "farloop advise question.toml --out out/answer",
    ),
    "list": ("farloop list algorithms", "farloop list claims --json"),
    "schema": ("farloop schema > scenario.schema.json", "farloop schema --of study > study.schema.json"),
    "validate": ("farloop validate", "farloop validate metamorphic --json"),
    "import-graphml": ("farloop import-graphml map.graphml > network.toml",),
    "import-flows": ("farloop import-flows flows.parquet > flows.csv",),
    "import-goal": ("farloop import-goal trace.goal > flows.csv",),
    "import-job": ("farloop import-job job.goal", "farloop import-job plan.toml --json"),
    "import-sndlib": ("farloop import-sndlib abilene.txt > network.toml",),
    "import-hpcc": (
        "farloop import-hpcc topology.txt > network.toml",
        "farloop import-hpcc topology.txt --flows flow.txt > flows.csv",
    ),
    "import-htsim": ("farloop import-htsim incast.cm > flows.csv",),
    "explain": ("farloop explain gear", "farloop explain scenario.toml --set workload.load=0.8"),
    "report": ("farloop report out/first", "farloop report out/first --why --sizes median"),
    "plot": (
        "farloop plot out/first --metric p99_slowdown --group intra,cross",
        "farloop plot out/first --kind cdf --metric fct --width 84mm --out fct.svg",
        "farloop plot out/first --kind heatmap --metric queue --style screen",
    ),
    "archive": ("farloop archive out/first", "farloop archive out/first --out artifact"),
    "why": ("farloop why out/first web-17", "farloop why out/job training --iteration 2 --html why.html"),
    "interference": ("farloop interference jobs.toml",),
    "scale": ("farloop scale jobs.toml 16 > smaller.toml",),
    "bench": ("farloop bench",),
    "new-algorithm": ("farloop new-algorithm my-vegas",),
    "kernel doctor": ("farloop kernel doctor",),
    "kernel load": ("farloop kernel load dctcp", "farloop kernel load gemini --set capacity=10Gbps"),
    "kernel unload": ("farloop kernel unload gemini",),
    "kernel status": ("farloop kernel status gemini",),
    "kernel record": ("farloop kernel record gemini events.jsonl --set capacity=10Gbps --duration 30s",),
    "kernel telemetry attach": ("farloop kernel telemetry attach /sys/fs/cgroup/gear",),
    "kernel telemetry detach": ("farloop kernel telemetry detach /sys/fs/cgroup/gear",),
    "kernel telemetry status": ("farloop kernel telemetry status --json",),
    "testbed clean": ("farloop testbed clean",),
    "testbed doctor": ("farloop testbed doctor",),
    "testbed run": ("farloop testbed run testbed.toml --out out/measured",),
    "testbed figure": ("farloop testbed figure gemini/fig10 --repetitions 3",),
}
"""Command lines by the name of the command."""


class Exemplified(TyperCommand):
    """A command whose help ends with examples, each on a line of its own."""

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Writes the examples as they stand: a command line that is wrapped cannot be copied."""
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in self.epilog.splitlines()))


def epilog_of(name: str) -> str | None:
    """The examples of a command; `None` where it has none."""
    return "\n".join(EXAMPLES[name]) if name in EXAMPLES else None
