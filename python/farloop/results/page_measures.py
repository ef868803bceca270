"""The numbers that the playground shows: which measures, and what it calls them.

The playground has no Python. Its definitions are crates/web/page/measures.json, which this module writes, and its numbers are held to
Python's by a test.
"""

from __future__ import annotations

import json

from farloop.results.measures import declared_measures

LABELS = {
    "iteration_time/mean": "Iteration time of jobs, mean",
    "flow_throughput/mean/intra": "Throughput of a flow inside, mean",
    "flow_throughput/mean/cross": "Throughput of a flow across, mean",
    "flow_throughput/mean/intra/endless": "Throughput of an endless flow inside, mean",
    "flow_throughput/mean/cross/endless": "Throughput of an endless flow across, mean",
    "jain": "Fairness (Jain's index) of throughputs",
    "flows": "Flows",
    "flows/finished": "Flows finished",
    "fct_slowdown/p50/finished": "FCT slowdown, median",
    "fct_slowdown/p99/finished": "FCT slowdown, 99th percentile",
    "fct_slowdown/p99/intra/begun": "FCT slowdown inside, 99th percentile",
    "fct_slowdown/p99/cross/begun": "FCT slowdown across, 99th percentile",
    "fct_slowdown/mean/intra/begun": "FCT slowdown inside, mean",
    "fct_slowdown/mean/cross/begun": "FCT slowdown across, mean",
    "queue/max/worst_port": "Longest queue",
    "pauses": "PFC pauses",
    "dropped": "Packets dropped",
    "lost": "Packets lost",
    "packet_hops": "Packet-hops",
}
"""Labels by identifier, in the order of the page."""


def definitions() -> str:
    """The content of measures.json."""
    declared = declared_measures()
    rows = [
        {"measure": name, "label": label, "unit": declared[name].unit, "definition": declared[name].definition}
        for name, label in LABELS.items()
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    import sys

    from farloop.safe_files.named_files import NamedFiles

    with NamedFiles() as pages:
        for argument in sys.argv[1:]:
            pages.write(argument, definitions().encode())
