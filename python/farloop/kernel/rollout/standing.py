"""Plans that run or are committed: their state, and requests to them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError, clip_text
from farloop.kernel.rollout import control, guardian, selection
from farloop.kernel.rollout.selection import COMMITTED

_PATIENCE = 15.0
"""Seconds that a running plan has for what it was asked for."""


def list_plans(name: str = "") -> list[dict[str, Any]]:
    """The state of a plan, or of all.

    Raises:
        FarloopError: there is no plan of that name.
    """
    states = [state for each in ([name] if name else _names()) if (state := _state_of(each))]
    if name and not states:
        raise _unknown(name)
    return states


def commit_plan(name: str) -> Path:
    """Has a running plan commit itself; returns where its pins are.

    Raises:
        FarloopError: it does not run, or did not do it.
    """
    pins = selection.PINS / name
    if control.ask(name, "POST", "/commit") is None:
        if is_committed(name):
            return pins
        raise _unknown(name)
    if not _wait(lambda: is_committed(name)):
        raise FarloopError(f"{name} did not commit; its log says why")
    return pins


def undo_plan(name: str) -> list[str]:
    """Takes a plan back; returns the connections that were idle and still have its algorithm.

    Raises:
        FarloopError: there is no such plan, or it does not end.
    """
    pins = selection.PINS / name
    if control.ask(name, "POST", "/undo") is not None:
        if not _wait(lambda: control.ask(name, "GET", "/status") is None):
            raise FarloopError(f"{name} does not end; is its process stopped?")
        return []
    if not pins.is_dir():
        raise _unknown(name)
    held = selection.open_pinned(pins)
    try:
        settings = held.settings()
        settings.flags &= ~COMMITTED
        held.write(settings)
        _, idle = guardian.take_all_back(held, pins, 10.0, None)
    finally:
        held.close()
    return idle


def is_committed(name: str) -> bool:
    """True if the plan is pinned and needs no process."""
    if not (selection.PINS / name).is_dir():
        return False
    held = selection.open_pinned(selection.PINS / name)
    try:
        return bool(held.settings().flags & COMMITTED)
    finally:
        held.close()


def _state_of(name: str) -> dict[str, Any] | None:
    if (text := control.ask(name, "GET", "/status")) is not None:
        state: dict[str, Any] = json.loads(text)
        return state
    pins = selection.PINS / name
    if not pins.is_dir():
        return None
    held = selection.open_pinned(pins)
    try:
        settings = held.settings()
        connections = [c for c in held.connections().values() if not c.closed]
        moved = sum(c.moved for c in connections)
        return {
            "plan": name,
            "control": settings.control,
            "state": "committed" if settings.flags & COMMITTED else "unfinished",
            "share": settings.share,
            "counts": held.counts(),
            "living": {"moved": moved, "unmoved": len(connections) - moved},
            "unseen": {},
        }
    finally:
        held.close()


def _names() -> list[str]:
    """Names of plans: of pins, and of abstract sockets of this network namespace."""
    pinned = [folder.name for folder in selection.PINS.iterdir()] if selection.PINS.is_dir() else []
    prefix = "@" + control.address_of("")[1:]
    words = (line.split() for line in Path("/proc/net/unix").read_text().splitlines())
    running = [word[-1].removeprefix(prefix) for word in words if word and word[-1].startswith(prefix)]
    return sorted({*pinned, *running})


def _wait(done: Any) -> bool:
    latest = time.monotonic() + _PATIENCE
    while not done():
        if time.monotonic() > latest:
            return False
        time.sleep(0.1)
    return True


def _unknown(name: str) -> FarloopError:
    known = ", ".join(_names()) or "none"
    return FarloopError(f"{clip_text(name)}: no plan of that name runs or is committed; there is {known}")
