"""Congestion controls that the kernel does not have by itself, registered while a testbed stands and this process lives."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from farloop.errors import FarloopError
from farloop.kernel import doctor, gemini, libbpf, settings
from farloop.testbed.blueprint import Blueprint, Control

_F_LINK = 1 << 13
"""`BPF_F_LINK`: a struct_ops map that is in service as long as its link is held, not until somebody takes it away."""

_STRUCT_OPS = 44
"""`BPF_STRUCT_OPS` of `enum bpf_attach_type`."""

_SIGNATURES = {
    "bpf_map__fd": [ctypes.c_void_p],
    "bpf_map__set_map_flags": [ctypes.c_void_p, ctypes.c_uint32],
    "bpf_link__destroy": [ctypes.c_void_p],
}


@contextmanager
def registered(plan: Blueprint) -> Iterator[None]:
    """GEMINI in the kernel, where a plan needs it, until the block ends.

    Raises:
        FarloopError: it is loaded already, or the kernel refuses it.
    """
    own = next((one for one in plan.algorithms if one.kernel == gemini.NAME), None)
    if own is None:
        yield
        return
    if gemini.loaded():
        raise FarloopError(
            "gemini is loaded already, with parameters of its own; `farloop kernel unload gemini` takes it away"
        )
    content = settings.packed(settings.constants(parameters(own, plan)))
    bpf = libbpf.library()
    for name, kinds in _SIGNATURES.items():
        getattr(bpf, name).argtypes = kinds
    with libbpf.opened(doctor.object_file(gemini.NAME).read_bytes()) as handle:
        constants = bpf.bpf_object__find_map_by_name(handle, b".rodata.settings")
        ops = bpf.bpf_object__find_map_by_name(handle, gemini.NAME.encode())
        if not constants or not ops or bpf.bpf_map__set_initial_value(constants, content, len(content)):
            raise libbpf.complaint("the compiled program is another one")
        if bpf.bpf_map__set_map_flags(ops, _F_LINK) or bpf.bpf_object__load(handle):
            raise libbpf.complaint("the kernel refuses the program")
        link = bpf.bpf_map__attach_struct_ops(ops)
        if not link:
            raise libbpf.complaint(f"the kernel does not register {gemini.NAME}")
        # libbpf before 1.2 leaves it at that, and does not ask for the link.
        own_link = -1 if gemini.loaded() else bpf.bpf_link_create(bpf.bpf_map__fd(ops), 0, _STRUCT_OPS, None)
        try:
            if not gemini.loaded():
                raise libbpf.complaint(f"the kernel does not register {gemini.NAME}")
            yield
        finally:
            bpf.bpf_link__destroy(link)
            if own_link >= 0:
                os.close(own_link)


def parameters(own: Control, plan: Blueprint) -> dict[str, Any]:
    """GEMINI's parameters; without a C that of the slowest host. The simulator has each host's own."""
    found = dict(own.parameters)
    if found["capacity"] == "none":
        hosts = set(plan.hosts)
        found["capacity"] = f"{min(link.rate for link in plan.links if hosts & set(link.ends))}bps"
    return found
