"""Makes `fluid/recorded.json`: the errors of the fluid simulation against packets.

    python validation/fluid/make.py [--packets DIRECTORY] [--cause TEXT] [CASE ...] [CASE/ALGORITHM ...]

runs the cases (all without a name) as `farloop validate fluid` does, and replaces what is recorded of them. A row that is worse than it
ever was is not replaced without a cause: the command names it, and ends with code 1. With `--cause` the row has that text. With `--packets`
runs of packets are kept in that directory, and made again only where a scenario or the packet simulator has changed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from farloop.experiments.execution import Execution
from farloop.studies.validation import fluid_cases, fluid_errors, fluid_records
from farloop.studies.validation.fluid_records import UnexplainedError
from farloop.studies.validation.kept_packets import KeptPackets

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Runs the cases and writes their errors; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("cases", nargs="*", help="Names of cases, or of a case with one of its algorithms.")
    parser.add_argument("--cause", default="", help="Why rows are worse than they were.")
    parser.add_argument("--packets", type=Path, help="Directory in which runs of packets are kept and looked for.")
    arguments = parser.parse_args()
    packets = KeptPackets(arguments.packets, ROOT) if arguments.packets else None
    path = fluid_cases.DIRECTORY / fluid_cases.RECORDED
    document = dict(fluid_cases.load_recorded())
    order = [case.name for case in fluid_cases.load()]
    refused = 0
    for wanted in arguments.cases or order:
        name, _, only = wanted.partition("/")
        for case, algorithm in fluid_errors.select([f"{fluid_errors.NAME}/{name}"], full=True):
            if only and algorithm != only:
                continue
            results = fluid_errors.run([(case, algorithm)], Execution(threads=1), packets)
            classes: dict[str, Any] = fluid_errors.record(results)[name][algorithm]
            known = document.get(name, {}).get(algorithm, {}).get(fluid_errors.ALL)
            (every,) = (each for each in results if each.size == fluid_errors.ALL)
            means = {way: own["mean"] for way, own in every.errors.items()}
            sys.stderr.write(f"{name} {algorithm}: {every.flows} flows, {means}\n")
            try:
                classes[fluid_errors.ALL] = fluid_records.succeed(known, classes[fluid_errors.ALL], arguments.cause)
            except UnexplainedError as error:
                sys.stderr.write(f"{name} {algorithm} {error}: --cause TEXT says it\n")
                refused += 1
                continue
            document[name] = dict(document.get(name, {})) | {algorithm: classes}
            kept = {case: document[case] for case in order if case in document}
            path.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
