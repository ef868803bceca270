"""The emulator's process. It ends when its standard input ends, which is when whoever started it ends, however that is.

`python -m farloop.emulation.process` reads the links as a line of JSON, writes `ready` and then, at the end, what each direction did.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from farloop.testbed.emulator_process import EmulatorProcess
from farloop.testbed.link_emulator import PRIORITY, raise_priority
from farloop.testbed.namespaces import Namespace

MODULE = "farloop.emulation.process"

_PATIENCE = 20.0


class Emulator(EmulatorProcess):
    """A running emulator.

    Args:
        spec: The links, as `EmulationPlan.spec` makes them.
        namespace: Where its interfaces are; `None` for where this process is.
        real_time: It takes real-time priority (SCHED_FIFO).

    Raises:
        FarloopError: it cannot be started.
    """

    def __init__(self, spec: dict[str, Any], namespace: Namespace | None, *, real_time: bool) -> None:
        text = json.dumps(spec | {"real_time": real_time})
        super().__init__("the emulator", [MODULE], namespace, text=text, patience=_PATIENCE)

    def cpu_seconds(self) -> float:
        """Seconds that processors have worked for it so far, in the kernel, too."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> list[list[dict[str, Any]]]:
        """Ends it: the report of each link, there and back.

        Raises:
            FarloopError: it had ended before.
        """
        reports: list[list[dict[str, Any]]] = self.read_output()
        return reports


def _read_line() -> str:
    """The first line of standard input, and not a byte more: the module reads the rest."""
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(0, 1)
        if not part:
            break
        line += part
    return line.decode()


def main() -> int:
    """The process."""
    from farloop import _native

    # Whoever started it ends first, and has the last word.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    text = _read_line()
    if json.loads(text)["real_time"]:
        raise_priority(PRIORITY)

    def say(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    say(_native.emulate(text, lambda: say("ready")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
