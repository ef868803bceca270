"""Requirements of a plan on this host, looked at before anything is changed."""

from __future__ import annotations

import os
from pathlib import Path

from farloop.errors import FarloopError
from farloop.kernel import doctor
from farloop.kernel.rollout import net_namespaces, selection
from farloop.kernel.rollout.rollout_plan import RolloutPlan

BPFFS = Path("/sys/fs/bpf")


def check_host(plan: RolloutPlan) -> Path:
    """Looks whether a plan can be carried out here; returns its cgroup.

    Raises:
        FarloopError: something is missing; the text says what, and how to get it.
    """
    problems = problems_of(plan)
    if problems:
        raise FarloopError(f"{plan.path}: {problems[0]}")
    cgroup = plan.cgroup or selection.find_cgroup()
    if cgroup is None:
        raise FarloopError("cgroup v2 is not mounted")
    return cgroup


def problems_of(plan: RolloutPlan) -> list[str]:
    """Everything that keeps a plan from being carried out here, a line each."""
    problems = []
    for name in (plan.algorithm, "rollout"):
        problems += [line for line in doctor.missing_requirements(name, rows=False) if line not in problems]
    cgroup = plan.cgroup or selection.find_cgroup()
    if cgroup is None:
        problems.append(doctor.cgroup_check().found)
    elif not is_unified(cgroup):
        problems.append(
            f"plan.cgroup: {cgroup} is no cgroup of version 2; expected a directory below one that is mounted"
        )
    if plan.finish == "commit" and not bpffs_is_mounted():
        problems.append('steps.finish = "commit" needs bpffs: `mount -t bpf bpf /sys/fs/bpf` mounts it')
    for name in plan.namespaces:
        if name != "all":
            try:
                net_namespaces.path_of(name)
            except FarloopError as error:
                problems.append(f"select.namespaces: {error}")
    if plan.needs_ecn and not plan.receiver_ready:
        problems.append(
            f"receiver.ready: {plan.algorithm} needs receivers that echo every mark ({plan.algorithm} or DCTCP there, or Accurate ECN); "
            "expected true, once they do"
        )
    if plan.former and plan.former not in list_algorithms():
        problems.append(f"select.former: this kernel has no {plan.former}; it has {', '.join(list_algorithms())}")
    return problems


def list_algorithms() -> list[str]:
    """The congestion controls of this kernel."""
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def bpffs_is_mounted() -> bool:
    """True if objects of BPF can be pinned below /sys/fs/bpf."""
    lines = (line.split() for line in Path("/proc/self/mounts").read_text().splitlines())
    return any(where == str(BPFFS) and kind == "bpf" for _, where, kind, *_ in lines)


def is_unified(cgroup: Path) -> bool:
    """True if a directory is a cgroup of version 2."""
    try:
        real = os.path.realpath(cgroup)
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return False
    under = [
        (len(where), kind) for _, where, kind, *_ in mounts if real == where or real.startswith(where.rstrip("/") + "/")
    ]
    return bool(under) and max(under)[1] == "cgroup2" and (cgroup / "cgroup.procs").exists()
