"""Makes `fluid/recorded.json`: the errors of the fluid simulation against packets.

    python validation/fluid/make.py [CASE ...]

runs the cases (all without a name) as `farloop validate fluid` does, and replaces what is recorded of them.
"""

from __future__ import annotations

import argparse
import json
import sys

from farloop.experiments.execution import Execution
from farloop.studies.validation import fluid_cases, fluid_errors


def main() -> None:
    """Runs the cases and writes their errors."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("cases", nargs="*", help="Names of cases.")
    names = parser.parse_args().cases
    path = fluid_cases.DIRECTORY / fluid_cases.RECORDED
    document = dict(fluid_cases.load_recorded())
    order = [case.name for case in fluid_cases.load()]
    for name in names or order:
        chosen = fluid_errors.select([f"{fluid_errors.NAME}/{name}"], full=True)
        for case, algorithm in chosen:
            results = fluid_errors.run([(case, algorithm)], Execution(threads=1))
            document.setdefault(name, {})[algorithm] = fluid_errors.record(results)[name][algorithm]
            kept = {case: document[case] for case in order if case in document}
            path.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
            (every,) = (each for each in results if each.size == fluid_errors.ALL)
            means = {way: own["mean"] for way, own in every.errors.items()}
            sys.stderr.write(f"{name} {algorithm}: {every.flows} flows, {means}\n")


if __name__ == "__main__":
    main()
