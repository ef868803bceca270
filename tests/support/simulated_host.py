"""A host without a kernel: the simulator gives what a testbed would measure."""

from dataclasses import replace

from farloop.experiments import variants
from farloop.experiments.execution import Execution
from farloop.testbed.measured import MEASURED

_RUNS = {}
"""What was simulated, by label and scenario: several tests measure the same."""


class Host:
    """The simulator as the kernel: what it gives is called measured, with the gaps that it is told."""

    def __init__(self, gaps=(), fails_at=None, failure=None):
        self.gaps, self.fails_at, self.failure, self.labels = list(gaps), fails_at, failure, []

    def __call__(self, variant, progress=None):
        if len(self.labels) == self.fails_at:
            raise self.failure
        self.labels.append(variant.label)
        key = variant.label, variant.case, variant.scenario
        if key not in _RUNS:
            (_RUNS[key],) = variants.run_variants([variant], Execution())
        run = _RUNS[key]
        gap = self.gaps.pop(0) if self.gaps else 0.001
        measured = {"longest_gap_s": gap, "real_time": True, "kernel": "simulated"}
        return replace(run, address="", info=run.info | {MEASURED: measured})
