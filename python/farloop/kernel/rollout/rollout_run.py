"""Carries a plan out: check, canary, widen or take back, switchback, commit. One process with a heartbeat, and a guardian beside it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from farloop.errors import FarloopError
from farloop.kernel.programs import is_available
from farloop.kernel.rollout import breaches, control, guardian, reach, selection
from farloop.kernel.rollout.host_checks import bpffs_is_mounted, check_host
from farloop.kernel.rollout.rollout_plan import RolloutPlan
from farloop.kernel.rollout.run_log import Journal, digest, unfinished_run
from farloop.kernel.rollout.selection import COMMITTED, WITHDRAWN, Selection
from farloop.kernel.rollout.sockets import Socket, Watch
from farloop.kernel.rollout.tally import ARMS, Completions, Rates, Tally, rates_of

TICK = 0.5
"""Seconds between two looks: heartbeat, sockets, limits."""

_NAMESPACES_EVERY = 5.0
_CLOSED_KEPT = 5.0
_OPTION_ECN = 8  # TCPI_OPT_ECN
_STEADY = 1.0
"""Seconds of a step before limits are judged."""


class WithdrawnError(FarloopError):
    """The plan was taken back; the text says why."""


class _UndoError(WithdrawnError):
    """Somebody asked for it."""


class _Commit(Exception):  # noqa: N818 - it is no error
    """Somebody asked for it."""


@dataclass
class Rollout:
    """A run of a plan.

    Attributes:
        say: Takes a line for people at each event.
        notify: Takes messages for a service manager.
    """

    plan: RolloutPlan
    log: Path
    say: Callable[[str], None]
    notify: Callable[[str], None] = lambda _message: None
    state: str = "checking"
    share: float = 0.0
    tally: Tally = field(default_factory=Tally)
    watch: Watch = field(default_factory=Watch)
    baseline: dict[str, Any] | None = None
    _held: Selection | None = None
    _guardian: guardian.Guardian | None = None
    _server: control.ControlServer | None = None
    _completions: Completions | None = None
    _moved: dict[int, Socket] = field(default_factory=dict)
    _arms: dict[int, str] = field(default_factory=dict)
    _closed: dict[int, float] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)
    _unseen_cookies: set[int] = field(default_factory=set)
    _next_namespaces: float = 0.0
    _next_tick: float = 0.0

    def run(self) -> str:
        """Carries the plan out.

        Returns:
            "committed", "undone", or "committed before" where there was nothing to do.

        Raises:
            WithdrawnError: a limit, a lapse or a request ended it; the host is as it was.
            FarloopError: something is missing, or the kernel refuses.
        """
        plan = self.plan
        pins = selection.PINS / plan.name
        cgroup = check_host(plan)
        if plan_is_committed(pins):
            return "committed before"
        self._completions = Completions(plan.completions) if plan.completions else None
        passed, before = unfinished_run(self.log, plan)
        self._journal = Journal(self.log, plan)
        try:
            self._server = control.ControlServer(plan.name, plan.listen, self._texts.get)
            self._event("begin", digest=digest(plan), control=plan.control, cgroup=str(cgroup), resumes_after=passed)
            self._wait_for_name()
            self._event("change", to="attached")
            self._held = selection.attach(plan, cgroup)
            by_process = reach.take_back_by_process if plan.existing else None
            self._guardian = guardian.start_guardian(self._held, pins, plan.take_back, by_process)
            self._server.start()
            self._set_state("attached")
            self.notify("READY=1")
            return self._carry_out(passed, before)
        except BaseException as error:
            self._end_badly(error)
            raise
        finally:
            self._close()

    def _carry_out(self, passed: int, before: dict[str, Any] | None) -> str:
        plan = self.plan
        try:
            self._observe_baseline(before if passed else None)
            for number, share in enumerate(plan.shares, 1):
                if number > passed:
                    self._take_step(number, share)
            if plan.blocks:
                self._switch_back()
            if plan.finish == "undo":
                self._take_back("the plan asks for it at its end")
                return "undone"
            if plan.finish == "wait":
                self._change_share(plan.shares[-1])
                self._set_state("waiting")
                begin = time.monotonic()
                while True:
                    self._tick()
                    self._judge(max(begin, time.monotonic() - plan.window))
        except _Commit:
            pass
        self._commit()
        return "committed"

    def _observe_baseline(self, known: dict[str, Any] | None) -> None:
        plan, held = self.plan, self._require()
        # To attach may have taken long, and nothing was selected meanwhile: the lease begins here.
        settings = held.settings()
        settings.beat = time.monotonic_ns()
        held.write(settings)
        self._tick()
        if known is not None:
            self.baseline = known
            self._event("resumed", rates=known)
            return
        self._set_state("baseline")
        begin = time.monotonic()
        while time.monotonic() < begin + plan.baseline:
            self._tick()
        self.baseline = asdict(self._class_rates(begin))
        self._event("baseline", seconds=plan.baseline, rates=self.baseline)
        for limit in plan.limits:
            if limit.relative and not self.baseline.get(limit.key):
                self._event(
                    "note",
                    note=f"limits.{limit.key} = {limit.text!r} does not bind: there was none before the first step",
                )

    def _take_step(self, number: int, share: float) -> None:
        plan = self.plan
        self._change_share(share, step=number)
        self._set_state("step")
        self._moved.clear()
        begin = time.monotonic()
        while time.monotonic() < begin + plan.hold:
            self._tick()
            self._judge(max(begin, time.monotonic() - plan.window))
        sums, duration = self.tally.sums_since(begin)
        naive = breaches.naive_ratios(sums, duration)
        rates = asdict(self._class_rates(begin))
        counts = self._require().counts()
        self._event("passed", step=number, share=share, rates=rates, naive=naive, counts=counts, **self._ecn_facts())

    def _ecn_facts(self) -> dict[str, Any]:
        """How many moved connections agreed on ECN, and whether marks come back (`tcpi_options`, `tcpi_delivered_ce`).

        Raises:
            WithdrawnError: none did, so the algorithm cannot work as it is meant.
        """
        if not self.plan.needs_ecn:
            return {}
        moved = list(self._moved.values())
        agreed = sum(bool(s.fields["options"] & _OPTION_ECN) for s in moved)
        if moved and not agreed:
            raise WithdrawnError(
                f"{self.plan.name}: none of {len(moved)} moved connections agreed on ECN; receivers take an ECT-marked SYN only with a "
                'plan of role = "accept" or "both", or an algorithm with ECN as their default'
            )
        marked = sum(s.fields["delivered_ce"] > 0 for s in moved)
        return {"ecn": {"moved": len(moved), "agreed": agreed, "with_marks": marked}}

    def _switch_back(self) -> None:
        plan = self.plan
        blocks = breaches.draw_blocks(plan)
        rows: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
        others: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
        for number, on in enumerate(blocks, 1):
            self._change_share(1.0 if on else 0.0, block=number)
            self._set_state("block")
            begin = time.monotonic()
            counted = begin + breaches.WASHOUT * plan.block
            while time.monotonic() < begin + plan.block:
                self._tick()
                if on:
                    self._judge(max(begin, time.monotonic() - plan.window))
            rows[on].append(asdict(self._class_rates(counted)))
            sums, duration = self.tally.sums_since(counted)
            others[on].append(asdict(rates_of(sums["others"], duration)))
            self._event("block", block=number, on=on, rates=rows[on][-1], others=others[on][-1])
        self._event(
            "verdict",
            whole_class=breaches.judge_blocks(rows[True], rows[False]),
            not_moved=breaches.judge_blocks(others[True], others[False]),
            blocks=plan.blocks,
        )

    def _change_share(self, share: float, **facts: Any) -> None:
        held = self._require()
        self._event("change", to="share", share=share, **facts)
        settings = held.settings()
        settings.share = share
        held.write(settings)
        self.share = share
        if self.plan.existing:
            if share:
                moved, kept = reach.move_existing(self.plan, held, share, self.watch.living())
                self._event("existing", moved=moved, not_reached=kept)
            else:
                reach.take_back_by_process(held)

    def _tick(self) -> None:
        plan, held = self.plan, self._require()
        now = time.monotonic()
        if (pause := self._next_tick - now) > 0:
            time.sleep(pause)
        now = time.monotonic()
        self._next_tick = now + TICK
        self._beat(held)
        if now >= self._next_namespaces:
            self.watch.follow_namespaces()
            self._next_namespaces = now + _NAMESPACES_EVERY
        connections = held.connections()
        for cookie, c in connections.items():
            self._arms[cookie] = "moved" if c.moved else "unmoved"
            if c.closed:
                self._closed.setdefault(cookie, now)
        living = self.watch.living()
        ended = self.watch.take_ended()
        for s in (*living.values(), *ended):
            # Those of the class that began before the plan.
            if s.cookie not in self._arms:
                self._arms[s.cookie] = "unmoved" if plan.has_connection(s.source, s.destination) else "others"
            # The handshake counts as delivered.
            if plan.needs_ecn and self._arms[s.cookie] == "moved" and s.fields["delivered"] > 1:
                self._moved[s.cookie] = s
        gone = self.tally.add(now, living, ended, self._arms)
        self._unseen_cookies |= {c.namespace for c in connections.values()} - self.watch.cookies - {0}
        forgotten = {cookie for cookie, at in self._closed.items() if cookie in gone or at < now - _CLOSED_KEPT}
        held.forget(forgotten | (gone & set(connections)))
        for cookie in forgotten | gone:
            self._arms.pop(cookie, None)
            self._closed.pop(cookie, None)
        if self._completions:
            self._completions.read(now)
        self._publish(held)
        if self._guardian and not self._guardian.is_alive():
            # It ends by itself when it has taken the plan back after a lapse.
            self._beat(held)
            raise WithdrawnError(f"{plan.name}: the guardian ended, so the plan is taken back; was it killed?")
        while self._server and not self._server.requests.empty():
            if self._server.requests.get() == "commit":
                raise _Commit
            raise _UndoError(f"{plan.name}: undo was asked for")

    def _beat(self, held: Selection) -> None:
        settings = held.settings()
        now = time.monotonic_ns()
        if settings.flags & WITHDRAWN or now - settings.beat > settings.lease:
            late = (now - settings.beat) / 1e9
            raise WithdrawnError(
                f"{self.plan.name}: the heartbeat was {late:.1f} s old (stopped, or no processor time?), so the plan is taken back"
            )
        settings.beat = now
        held.write(settings)
        self.notify("WATCHDOG=1")

    def _class_rates(self, begin: float) -> Rates:
        sums, duration = self.tally.sums_since(begin)
        completions = self._completions.rate_since(begin, duration) if self._completions else (None, None)
        return breaches.class_rates(sums, duration, completions)

    def _judge(self, begin: float) -> None:
        sums, duration = self.tally.sums_since(begin)
        if duration < min(_STEADY, self.plan.window / 2):
            return
        breach = breaches.find_breach(self.plan.limits, sums, duration, self._class_rates(begin), self.baseline)
        if breach:
            self._event("breach", **asdict(breach))
            raise WithdrawnError(f"{self.plan.name}: {breach.sentence()}")

    def _commit(self) -> None:
        held, pins = self._require(), selection.PINS / self.plan.name
        if not bpffs_is_mounted():
            raise WithdrawnError(
                "bpffs is not mounted at /sys/fs/bpf, so the plan cannot be committed; `mount -t bpf bpf /sys/fs/bpf` mounts it"
            )
        self._event("change", to="committed")
        pins.mkdir(parents=True, exist_ok=True)
        held.pin(pins)
        settings = held.settings()
        settings.flags |= COMMITTED
        settings.share = self.plan.shares[-1]
        held.write(settings)
        self._set_state("committed")
        self._event("end", result="committed", pins=str(pins), counts=held.counts())

    def _take_back(self, why: str) -> None:
        held = self._require()
        self._event("change", to="taken_back", why=why)
        begin = time.monotonic()
        by_process = reach.take_back_by_process if self.plan.existing else None
        idle, names = guardian.take_all_back(held, selection.PINS / self.plan.name, self.plan.take_back, by_process)
        self.share = 0.0
        self._set_state("taken_back")
        seconds = round(time.monotonic() - begin, 3)
        counts = held.counts()
        self._event(
            "end", result="undone", why=why, seconds=seconds, idle=idle, idle_connections=names[:100], counts=counts
        )

    def _end_badly(self, error: BaseException) -> None:
        if self._held is None:
            # Nothing was changed.
            self._event("end", result="refused", why=str(error) or type(error).__name__)
            return
        settings = self._held.settings()
        if settings.flags & COMMITTED:
            return
        self._take_back(str(error) or type(error).__name__)

    def _wait_for_name(self) -> None:
        """The guardian of a run that was killed may still hold the algorithm."""
        latest = time.monotonic() + self.plan.take_back
        while is_available(self.plan.control) and time.monotonic() < latest:
            time.sleep(0.1)

    def _set_state(self, state: str) -> None:
        self.state = state
        self._event("state", state=state, share=self.share)
        self.notify(f"STATUS={state}, share {self.share:.3g}")

    def _event(self, event: str, **facts: Any) -> None:
        line = self._journal.write(event, **facts)
        with suppress(OSError, ValueError):
            self.say(event_text(line))

    def _publish(self, held: Selection) -> None:
        settings = held.settings()
        state = {
            "plan": self.plan.name,
            "control": self.plan.control,
            "state": self.state,
            "share": settings.share,
            "counts": held.counts(),
            "living": dict(self.tally.living),
            "sums": {arm: asdict(self.tally.sums[arm]) for arm in ARMS},
            "unseen": dict(self.watch.unseen) | {f"cookie {c}": "no process shows it" for c in self._unseen_cookies},
            "lost": self.watch.lost,
        }
        self._texts["/metrics"] = control.prometheus_text(self.plan.name, state)
        self._texts["/status"] = control.state_text(state)

    def _require(self) -> Selection:
        if self._held is None:
            raise FarloopError("the plan is not attached")
        return self._held

    def _close(self) -> None:
        if self._guardian:
            self._guardian.dismiss()
        if self._held:
            self._held.close()
        if self._server:
            self._server.close()
        if self._completions:
            self._completions.close()
        self.watch.close()
        self._journal.close()


def plan_is_committed(pins: Path) -> bool:
    """True if the plan is committed; what an unfinished commit left is taken away."""
    if not pins.is_dir():
        return False
    try:
        held = selection.open_pinned(pins)
    except FarloopError:
        guardian.remove_pins(pins)
        return False
    committed = bool(held.settings().flags & COMMITTED)
    held.close()
    if not committed:
        guardian.remove_pins(pins)
    return committed


def event_text(line: dict[str, Any]) -> str:
    """An event for people."""
    facts = ", ".join(
        f"{key} {_fact_text(value)}"
        for key, value in line.items()
        if key not in ("time", "plan", "event") and value is not None
    )
    return f"{line['time'][11:23]} {line['event']}{': ' if facts else ''}{facts}"


def _fact_text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return "(" + ", ".join(f"{k} {_fact_text(v)}" for k, v in value.items() if v is not None) + ")"
    if isinstance(value, list):
        return "; ".join(map(_fact_text, value)) or "none"
    return str(value)
