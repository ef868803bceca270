"""A process that emulates links beside the one that wants them: how it is started, looked after and ended."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import nullcontext
from typing import Any

from farloop.errors import FarloopError
from farloop.testbed.namespaces import Namespace


class EmulatorProcess:
    """A module of Python that says `ready`, works until its standard input ends, and then writes JSON.

    Its standard input ends when whoever started it ends, however that is.

    Attributes:
        pid: Its number.

    Args:
        name: In errors, such as "the emulator".
        module: What runs, by its name, and words for it.
        namespace: The network namespace of its interfaces; `None` for that of this process.
        text: A line that it reads first; without, none.
        patience: Seconds that it may take to end.

    Raises:
        FarloopError: it cannot be started.
    """

    def __init__(
        self, name: str, module: list[str], namespace: Namespace | None, *, text: str = "", patience: float = 10.0
    ) -> None:
        self._name, self._patience = name, patience
        words = [sys.executable, "-P", "-m", *module]
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with nullcontext() if namespace is None else namespace.enter_namespace():
            self._process = subprocess.Popen(words, **pipes, text=True)
        self.pid = self._process.pid
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            if text:
                self._process.stdin.write(f"{text}\n")
                self._process.stdin.flush()
            if self._process.stdout.readline() != "ready\n":
                raise self._failure()
        except OSError:
            raise self._failure() from None

    def check(self) -> None:
        """Checks that it still runs.

        Raises:
            FarloopError: it has ended.
        """
        if self._process.poll() is not None:
            raise self._failure()

    def read_output(self) -> Any:
        """Ends it; returns the JSON that it wrote.

        Raises:
            FarloopError: it had ended before, or does not end.
        """
        try:
            out, _ = self._process.communicate(timeout=self._patience)
            return json.loads(out)
        except (ValueError, OSError, subprocess.TimeoutExpired):
            raise self._failure() from None

    def kill(self) -> None:
        """Ends it at once."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.communicate()

    def _failure(self) -> FarloopError:
        self._process.kill()
        _, errors = self._process.communicate()
        lines = errors.strip().splitlines()
        return FarloopError(f"{self._name} has ended: {lines[-1] if lines else 'without a word'}")
