"""The emulator's process. It ends when its standard input ends, which is when whoever started it ends, however that is.

`python -m farloop.emulation.process` reads the links as a line of JSON, writes `ready` and then, at the end, what each direction did.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.testbed.link_emulator import PRIORITY, raise_priority
from farloop.testbed.namespaces import Namespace

MODULE = "farloop.emulation.process"

_PATIENCE = 20.0


class Emulator:
    """A running emulator.

    Args:
        spec: The links, as `EmulationPlan.spec` makes them.
        namespace: Where its interfaces are; `None` for where this process is.
        real_time: It takes real-time priority (SCHED_FIFO).

    Raises:
        FarloopError: it cannot be started.
    """

    def __init__(self, spec: dict[str, Any], namespace: Namespace | None, *, real_time: bool) -> None:
        words = [sys.executable, "-P", "-m", MODULE]
        text = json.dumps(spec | {"real_time": real_time})
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        if namespace is None:
            self._process = subprocess.Popen(words, **pipes, text=True)
        else:
            with namespace.enter_namespace():
                self._process = subprocess.Popen(words, **pipes, text=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{text}\n")
            self._process.stdin.flush()
            if self._process.stdout.readline() != "ready\n":
                raise self._failure()
        except OSError:
            raise self._failure() from None

    def cpu_seconds(self) -> float:
        """Seconds that processors have worked for it so far, in the kernel, too."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def check(self) -> None:
        """Checks that it still runs.

        Raises:
            FarloopError: it has ended.
        """
        if self._process.poll() is not None:
            raise self._failure()

    def stop(self) -> list[list[dict[str, Any]]]:
        """Ends it: the report of each link, there and back.

        Raises:
            FarloopError: it had ended before.
        """
        try:
            out, _ = self._process.communicate(timeout=_PATIENCE)
            reports: list[list[dict[str, Any]]] = json.loads(out)
        except (ValueError, OSError, subprocess.TimeoutExpired):
            raise self._failure() from None
        return reports

    def kill(self) -> None:
        """Ends it at once."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.communicate()

    def _failure(self) -> FarloopError:
        self._process.kill()
        _, errors = self._process.communicate()
        lines = errors.strip().splitlines()
        return FarloopError(f"the emulator has ended: {lines[-1] if lines else 'without a word'}")


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
