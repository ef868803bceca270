"""Trials of what a kernel has and no file says, and nothing of the trial stays."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from farloop.errors import FarloopError
from farloop.kernel import libbpf

QDISCS = ("fq", "fq_codel", "netem", "tbf rate 1mbit burst 10kb limit 10kb")
"""Queueing disciplines that rollouts, testbeds and emulations of long links ask for, as `tc` takes them."""


def refusal_of_iterators(code: Path) -> str | None:
    """Loads the program that lists connections; returns why the kernel refuses it, or None if it does not.

    Args:
        code: The compiled program.
    """
    if not code.exists():
        return "not tried: the program flows is not compiled"
    if os.geteuid():
        return "not tried: only root may load programs"
    try:
        with libbpf.open_object(code.read_bytes()) as handle:
            if libbpf.library().bpf_object__load(handle):
                return str(libbpf.last_error("the kernel refuses them (bpf_prog_load)")).split(" (processed")[0]
    except FarloopError as error:
        return str(error)
    return None


def missing_qdiscs() -> list[str] | None:
    """Sets each discipline up in a network namespace of its own; returns those that the kernel lacks, None where none is tried."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    tools = [shutil.which(name, path=path) for name in ("unshare", "tc")]
    if os.geteuid() or None in tools:
        return None
    script = 'for q in "$@"; do "$TC" qdisc replace dev lo root $q 2>/dev/null || echo "${q%% *}"; done'
    done = subprocess.run(
        [str(tools[0]), "--net", "sh", "-c", script, "sh", *QDISCS],
        env={**os.environ, "TC": str(tools[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.split() if done.returncode == 0 else None
