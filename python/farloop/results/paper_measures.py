"""The numbers that papers define otherwise than farloop's own measures, each under a name of its own and with its source.

A claim compares what a paper printed, so it is measured as that paper measured: another class of sizes, another time from which flows
count, or another time alone. Such a number has no identifier of [measures][farloop.results.measures]; it has a definition here. All are
made of the same primitives ([flow_samples][farloop.results.flow_samples]). Where a paper leaves a choice open, the definition says so.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperMeasure:
    """A number as a paper defines it.

    Attributes:
        identifier: The paper, and the number's name there: "gear/fct_slowdown".
        unit: Its unit; "1" where there is none.
        definition: Its meaning: which flows, from when on, until when, and how unfinished ones count.
        source: Paper and section.
        function: Function that computes it, as module and name.
        open_choice: Choice of farloop where the paper leaves one open; else empty.
    """

    identifier: str
    unit: str
    definition: str
    source: str
    function: str
    open_choice: str = ""


PAPER_MEASURES = (
    PaperMeasure(
        "gear/fct_slowdown",
        "1",
        "Average, 95th and 99th percentile of the FCT slowdown of flows inside datacenters, of at most the median size of these flows "
        "(small) and above it (large), until the last byte arrives.",
        "Gear, ToN 2025, §IV-B4",
        "farloop.judging.traffic:Flows.slowdowns",
        "The paper names neither the split nor a warm-up: flows of 50 ms or older at the end count, unfinished ones by their age.",
    ),
    PaperMeasure(
        "gear/normalised_ratio",
        "1",
        "(Intra_thpt / Cross_thpt) / (Intra_gen / Cross_gen): delivered over generated payload of flows inside, over the same of flows "
        "across.",
        "Gear, ToN 2025, §IV-B1",
        "farloop.judging.traffic:Flows.normalised_ratio",
        "Flows of an age of at least 50 ms at the end count.",
    ),
    PaperMeasure(
        "gear/flow_level_ratio",
        "1",
        "The same ratio from the means over flows of delivered payload over active time.",
        "Gear, ToN 2025, §IV-B1",
        "farloop.judging.traffic:Flows.flow_level_ratio",
        "A second reading of the paper's throughput; unfinished flows are active until the end.",
    ),
    PaperMeasure(
        "gear/backlog",
        "B",
        "Payload of a kind of flows that was generated and has not arrived by the end.",
        "Gear, ToN 2025, §IV-B1",
        "farloop.judging.traffic:Flows.backlog",
        "Not the paper's: it says whether a ratio is a steady one.",
    ),
    PaperMeasure(
        "gemini/fct",
        "s",
        "Average completion time of flows below 100 kB (small), above 10 MB (large) and of all, and the 99th percentile of the small ones, "
        "until the last byte arrives.",
        "GEMINI, ToN 2022, §IV-D and caption of Fig. 4",
        "farloop.judging.testbed:Completion.cells",
        "Flows that start in the second half of the arrivals count, unfinished ones by their age.",
    ),
    PaperMeasure(
        "mlcc/fct",
        "s",
        "Average completion time of flows inside, across and of all, until the last byte arrives.",
        "MLCC, ICPP 2025, §4.4 to §4.6, Figs. 11, 13, 14 and 16",
        "farloop.papers.mlcc.common:FlowTimes.mean",
        "Flows that start after a round trip across (10 ms; 7 ms on the testbed) count, unfinished ones by their age.",
    ),
    PaperMeasure(
        "mlcc/fct_tail",
        "s",
        "99.9th percentile of the completion time until the last byte arrives, by flow size, of the flows of all seeds together; \"up to "
        "5 MB\" and \"above\" are its bins.",
        "MLCC, ICPP 2025, §4.4 and §4.5, Figs. 12 and 15",
        "farloop.papers.mlcc.loads:tail",
        "The bins are points of the published distributions of sizes, and 5 MB.",
    ),
    PaperMeasure(
        "icc/fct",
        "s",
        "Average and 99th percentile of the completion time of flows of named senders, until the last byte arrives.",
        "ICC, CMC 75(1), 2023, §5, Figs. 10, 12 and 13",
        "farloop.papers.icc.common:completion",
        "Unfinished flows count by their age.",
    ),
    PaperMeasure(
        "acceltor/mice_fct",
        "1",
        "Completion time of a mouse over that of the same flow alone in the packet network, slow start included (Eq. 8), until the last "
        "byte arrives.",
        "AccelToR, §IV-C, Eq. 8",
        "farloop.papers.acceltor.common:mice",
        "Mice that arrive from the fourth week on count, unfinished ones by their age.",
    ),
    PaperMeasure(
        "uno/fct",
        "s",
        "Mean, 99th percentile and largest completion time of flows inside, across and of all, until the last byte is acknowledged.",
        "Uno, SC 2025, Figs. 8, 10 and 11; its artifact",
        "farloop.papers.uno.common:times",
    ),
    PaperMeasure(
        "uno/fct_slowdown",
        "1",
        "Completion time until the last byte is acknowledged, over a base round-trip time and the time that the payload takes at line "
        "rate, at least 1.",
        "Uno's artifact, lcp/scripts/plot_script_micro.py, print_fct_info",
        "farloop.papers.uno.common:slowdowns",
    ),
    PaperMeasure(
        "uec/fct",
        "s",
        "Mean and largest completion time of all flows, until the last byte is acknowledged.",
        "uet-htsim, what it prints of each flow",
        "farloop.papers.uec.common:mean_and_last",
    ),
)  # fmt: skip
"""All of them. Measures of a reference of `farloop validate` have identifiers among the measures: its classes stand in
`farloop.results.measures.SIZES` as "below_100kB" and "from_1MB"."""
