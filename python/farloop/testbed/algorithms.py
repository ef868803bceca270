"""Congestion controls that the kernel does not have by itself, registered while a testbed stands and this process lives."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.kernel import doctor, libbpf
from farloop.kernel.baselines import DCTCP, VEGAS
from farloop.kernel.gemini import GEMINI
from farloop.kernel.programs import Program
from farloop.testbed.blueprint import Blueprint, Control

PROGRAMS = {"gemini": GEMINI, "dctcp": DCTCP, "vegas": VEGAS}
"""By what kernels call them. A kernel's own DCTCP and Vegas are preferred."""

_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_F_LINK = 1 << 13
"""`BPF_F_LINK`: a struct_ops map that is in service as long as its link is held, not until somebody takes it away."""

_STRUCT_OPS = 44
"""`BPF_STRUCT_OPS` of `enum bpf_attach_type`."""

_SIGNATURES = {
    "bpf_map__fd": [ctypes.c_void_p],
    "bpf_map__set_map_flags": [ctypes.c_void_p, ctypes.c_uint32],
    "bpf_link__destroy": [ctypes.c_void_p],
}


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
    content = program.packed(parameters)
    bpf = libbpf.library()
    for name, kinds in _SIGNATURES.items():
        getattr(bpf, name).argtypes = kinds
    with libbpf.open_object(doctor.object_file(program.name).read_bytes()) as handle:
        constants = bpf.bpf_object__find_map_by_name(handle, b".rodata.settings")
        ops = bpf.bpf_object__find_map_by_name(handle, program.control.encode())
        if not constants or not ops or bpf.bpf_map__set_initial_value(constants, content, len(content)):
            raise libbpf.last_error("the compiled program is another one")
        if bpf.bpf_map__set_map_flags(ops, _F_LINK) or bpf.bpf_object__load(handle):
            raise libbpf.last_error("the kernel refuses the program")
        link = bpf.bpf_map__attach_struct_ops(ops)
        if not link:
            raise libbpf.last_error(f"the kernel does not register {program.control}")
        # libbpf before 1.2 leaves it at that, and does not ask for the link.
        own_link = -1 if program.is_loaded() else bpf.bpf_link_create(bpf.bpf_map__fd(ops), 0, _STRUCT_OPS, None)
        try:
            if not program.is_loaded():
                raise libbpf.last_error(f"the kernel does not register {program.control}")
            yield
        finally:
            bpf.bpf_link__destroy(link)
            if own_link >= 0:
                os.close(own_link)


def _find_program(control: str) -> Program | None:
    program = PROGRAMS.get(control)
    return None if program is None or (program is not GEMINI and control in _list_available()) else program


def _list_available() -> list[str]:
    return _AVAILABLE.read_text().split()
