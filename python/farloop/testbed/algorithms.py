"""Congestion controls that the kernel does not have by itself, registered while a testbed stands and this process lives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.kernel import doctor
from farloop.kernel.baselines import DCTCP, VEGAS
from farloop.kernel.gemini import GEMINI
from farloop.kernel.programs import Program
from farloop.testbed.blueprint import Blueprint, Control

PROGRAMS = {"gemini": GEMINI, "dctcp": DCTCP, "vegas": VEGAS}
"""By what kernels call them. A kernel's own DCTCP and Vegas are preferred."""

_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def missing_algorithms(controls: list[str]) -> list[str]:
    """Returns the requirements of these that this host lacks, with how to get them."""
    lacking = []
    for name in controls:
        program = _find_program(name)
        if program is None and name not in _list_available():
            lacking.append(f"congestion control {name}: this kernel has none")
        elif program is not None and not doctor.object_file(program.name).exists():
            lacking.append(f"program {program.name}: {doctor.uncompiled_message(program.name)}")
    return lacking


@contextmanager
def register_algorithms(plan: Blueprint) -> Iterator[Blueprint]:
    """Keeps algorithms of a plan that the kernel lacks registered until the block ends; gives the plan with their names in the kernel.

    Raises:
        FarloopError: one is loaded already, or the kernel refuses it.
    """
    with ExitStack() as stack:
        controls = []
        for own in plan.algorithms:
            program = _find_program(own.kernel)
            if program is not None:
                stack.enter_context(_hold_program(program, parameters(own, plan)))
            controls.append(replace(own, kernel=program.control if program else own.kernel))
        yield replace(plan, algorithms=tuple(controls))


def parameters(own: Control, plan: Blueprint) -> dict[str, Any]:
    """An algorithm's parameters; GEMINI's without a C have that of the slowest host that sends. The simulator has each sender's own."""
    values = dict(own.parameters)
    if values.get("capacity") == "none":
        senders = {flow.source for flow in plan.flows}
        values["capacity"] = f"{min(link.rate for link in plan.links if senders & set(link.ends))}bps"
    return values


@contextmanager
def _hold_program(program: Program, parameters: dict[str, Any]) -> Iterator[None]:
    """A program in service until the block ends; nothing is left of it, however this process ends."""
    if program.is_loaded():
        raise FarloopError(
            f"{program.name} is loaded already, with parameters of its own; `farloop kernel unload {program.name}` takes it away"
        )
    link = program.register_by_link(parameters)
    try:
        yield
    finally:
        os.close(link)


def _find_program(control: str) -> Program | None:
    program = PROGRAMS.get(control)
    return None if program is None or (program is not GEMINI and control in _list_available()) else program


def _list_available() -> list[str]:
    return _AVAILABLE.read_text().split()
