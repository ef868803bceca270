"""A small study, its base scenario, and the journal of a store."""

import json
from collections import Counter

from farloop.experiments import journal as journals
from farloop.experiments import tasks
from farloop.studies.sweep import definition

BASE = """\
title = "Short flows"
[run]
duration = "20ms"
[network]
topology = "dumbbell"
intra_pairs = 2
cross_pairs = 2
rate = "1Gbps"
link_delay = "5us"
wan_delay = "1ms"
[algorithm]
name = "dctcp"
[workload]
sizes = "50kB"
load = 0.3
stop = "5ms"
[record]
flows = []
ports = ["left->right"]
interval = "100us"
"""

STUDY = """\
title = "Load and algorithm"
base = "base.toml"
collect = ["p99_slowdown", "throughput", "max port/left->right queue"]

[grid]
algorithm = ["dctcp", "hpcc"]
workload.load = [0.2, 0.4]
seed = "1-3"
"""


def jobs_text(names, scale=1024):
    """A scenario of training jobs of these names, each on two hosts."""
    hosts = 2 * len(names)
    text = f"""\
run.duration = "10s"
algorithm.name = "dcqcn"
record.interval = "none"
[network]
topology = "spine-leaf"
leaves = 2
spines = 1
hosts_per_leaf = {hosts // 2}
rate = "10Gbps"
"""
    for number, name in enumerate(names, 1):
        text += (
            f'[[job]]\nname = "{name}"\nmodel = "llama3-8b"\nlayers = 1\ntokens = 64\ndata = 2\nmicrobatches = 1\n'
            f'scale = {scale}\nhosts = ["h{number}", "h{number + len(names)}"]\n'
        )
    return text


class PoolOfOne:
    """Makes the tasks of a study in this process, one after the other: quicker than workers, which take longer to start than small runs."""

    def __init__(self, workers):
        self.workers = workers

    def outcomes(self, waiting, progress=None):
        """Each task with its outcome."""
        return ((task, tasks.make(task)) for task in waiting)

    def close(self):
        """There is nothing to end."""


def written(directory):
    """Writes study and base scenario into the directory, and gives the directory back."""
    (directory / "base.toml").write_text(BASE, encoding="utf-8")
    (directory / "study.toml").write_text(STUDY, encoding="utf-8")
    return directory


def journal(store, what):
    """How often each run was begun, or finished."""
    lines = (store / journals.JOURNAL).read_text("utf-8").splitlines()
    return Counter(line["run"] for line in map(json.loads, lines) if line["what"] == what)


def read(place, text):
    (place / "study.toml").write_text(text, encoding="utf-8")
    return definition.from_file(place / "study.toml")
