"""The same question under other loads, RTTs and buffers, with a failed link, with other ties: what of a scenario can be varied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from farloop import units
from farloop.scenario import Scenario
from farloop.studies.advice.long_haul import is_across, read_long_haul

NEAR = (0.8, 1.2)
"""Factors within which an answer is to hold."""

FAR = (0.5, 2.0)
"""Factors that show where it changes."""

LOAD, RTT, BUFFER, FAILED_LINK, TIES = "load", "RTT", "buffer", "failed link", "ties"
"""Kinds of conditions."""

FIRST_ASKED = ((FAILED_LINK, None), (BUFFER, 0.5), (RTT, 2.0), (LOAD, 1.2))
"""The conditions that operators ask for first, by kind and factor."""

_BUFFERS = ("buffer", "queue_limit")
"""The keys of switches that hold what waits."""


@dataclass(frozen=True)
class Condition:
    """A scenario that is a little different.

    Attributes:
        kind: "load", "RTT", "buffer", "failed link" or "ties".
        text: The difference, for people.
        factor: By how much, where that is a number.
        settings: The settings that make it; under an empty key, text that is added to the scenario.
    """

    kind: str
    text: str
    factor: float | None
    settings: Mapping[str, str]

    def apply(self, scenario: Scenario) -> Scenario:
        """A scenario under this condition."""
        text = self.settings.get("")
        if text is not None:
            return Scenario(scenario.text + text, scenario.file, scenario.overrides, scenario.classes, scenario.case)
        return scenario.override(dict(self.settings))


@dataclass
class Conditions:
    """The conditions of a scenario.

    Attributes:
        all: The conditions, those that operators ask for first at the front.
        left_out: A sentence for each that the scenario cannot have, by kind.
    """

    all: list[Condition] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def conditions(scenario: Scenario) -> Conditions:
    """All that can be varied of a scenario.

    Raises:
        ScenarioError: the scenario is not valid.
    """
    varied = Conditions()
    resolved = scenario.resolved
    loads, fixed = _loads(resolved)
    words = "load" if not fixed else f"load of {', '.join(name for name, _, _ in loads)}"
    varied.all += _scale_conditions(LOAD, words, {key: write for _, key, write in loads})
    if fixed:
        rest = "" if not loads else "; the load of the others was"
        varied.left_out[LOAD] = (
            f"The load of {', '.join(fixed)} was not varied: flows that are listed have no load{rest}."
        )
    delays = dict(_delays(resolved))
    varied.all += _scale_conditions(RTT, "RTT across", delays)
    if not delays:
        varied.left_out[RTT] = "The RTT across was not varied: no link joins sites."
    varied.all += _scale_conditions(BUFFER, "buffer", dict(_buffers(resolved)))
    varied.all += [
        Condition(TIES, f"another order of ties ({number})", None, {"run.jitter": str(number)}) for number in (1, 2)
    ]
    failed = _failed_link(scenario)
    if isinstance(failed, Condition):
        varied.all.append(failed)
    else:
        varied.left_out[FAILED_LINK] = f"A failed long-haul link was not tried: {failed}."
    varied.all.sort(key=_rank)
    return varied


def _rank(condition: Condition) -> int:
    if (condition.kind, condition.factor) in FIRST_ASKED:
        return FIRST_ASKED.index((condition.kind, condition.factor))
    return len(FIRST_ASKED) + (0 if condition.factor in NEAR else 1 if condition.kind == TIES else 2)


Write = Callable[[float], str]
"""Writes a value times a factor as a scenario has it."""


def _scale_conditions(kind: str, words: str, keys: Mapping[str, Write]) -> list[Condition]:
    if not keys:
        return []
    return [
        Condition(kind, f"{words} × {factor:g}", factor, {key: write(factor) for key, write in keys.items()})
        for factor in (*NEAR, *FAR)
    ]


def _loads(resolved: Mapping[str, Any]) -> tuple[list[tuple[str, str, Write]], list[str]]:
    """The workloads whose load is a number or an interval, with the key that sets it; and the names of those that have none."""
    workloads = resolved.get("workload") or []
    is_list = isinstance(workloads, list)
    loads: list[tuple[str, str, Write]] = []
    fixed = []
    for number, workload in enumerate(workloads if is_list else [workloads], 1):
        known = str(workload.get("name", "none"))
        name = known if known != "none" else str(number)
        section = f"workload.{name}" if is_list else "workload"
        load, interval = workload.get("load"), workload.get("interval", "none")
        if isinstance(load, int | float):
            loads.append((name, f"{section}.load", _writing(float(load), "{:.6g}")))
        elif interval != "none":
            loads.append((name, f"{section}.interval", _writing_interval(units.seconds(str(interval)))))
        else:
            fixed.append(f"workload {name}" if is_list else "the workload")
    return loads, fixed


def _writing(value: float, form: str) -> Write:
    return lambda factor: form.format(value * factor)


def _writing_interval(value: float) -> Write:
    """Rounds of flows come the more often, the higher the load."""
    return lambda factor: f"{round(value / factor * 1e12)}ps"


def _delays(resolved: Mapping[str, Any]) -> Iterator[tuple[str, Write]]:
    """The delays of all links between sites: the key for all of them, and those of each `[[link]]`."""
    own = resolved.get("network", {}).get("wan_delay", "none")
    if own != "none" and units.seconds(str(own)):
        yield "network.wan_delay", _writing(units.seconds(str(own)) * 1e12, "{:.0f}ps")
    nodes = {node["name"]: node for node in resolved.get("node") or []}
    sites = {name: None if node["datacenter"] == "none" else node["datacenter"] for name, node in nodes.items()}
    parallel: dict[frozenset[str], int] = {}
    for link in resolved.get("link") or []:
        a, b = link["a"], link["b"]
        number = parallel.get(frozenset((a, b)), 0) + 1
        parallel[frozenset((a, b))] = number - 1 + int(link.get("links", 1))
        is_host = any(nodes.get(end, {}).get("kind") == "host" for end in (a, b))
        if is_host or not is_across(_site(a, sites), _site(b, sites)) or not units.seconds(str(link["delay"])):
            continue
        key = f"link.{a}->{b}{f'#{number}' if number > 1 else ''}.delay"
        yield key, _writing(units.seconds(str(link["delay"])) * 1e12, "{:.0f}ps")


def _site(node: str, sites: Mapping[str, Any]) -> Any:
    """The datacenter of a node: that of its table, or the number in the name of a switch of a datacenter, such as dc1-spine2."""
    if node in sites:
        return sites[node]
    number = node.partition("-")[0].removeprefix("dc")
    return int(number) if number.isdigit() and not node.partition("-")[2].startswith("border") else None


def _buffers(resolved: Mapping[str, Any]) -> Iterator[tuple[str, Write]]:
    """The buffers of switches, of routers between sites, and of those that have settings of their own."""
    own = [(f"switch_override.{table['match']}", table) for table in resolved.get("switch_override") or []]
    tables = [(name, resolved.get(name) or {}) for name in ("switch", "wan_switch")]
    for section, table in [*tables, *own]:
        for key in _BUFFERS:
            text = table.get(key, "none")
            if text != "none":
                yield f"{section}.{key}", _writing(float(units.size(str(text))), "{:.0f}B")


def _failed_link(scenario: Scenario) -> Condition | str:
    """The busiest link between sites that has an alternative fails half-way through the arrivals; else why none can."""
    resolved = scenario.resolved
    if resolved.get("event"):
        return "the scenario has events of its own"
    if resolved.get("detour") or resolved.get("circuits"):
        return "links of networks with circuits or detours cannot go down"
    haul = read_long_haul(scenario)
    link = haul.failing()
    if link is None:
        return "no link between sites that carries traffic has an alternative"
    at = round((haul.middle or units.seconds(str(resolved["run"]["duration"])) / 4) * 1e12)
    text = f'\n[[event]]\nat = "{at}ps"\nlink = "{link.name}"\nstate = "down"\n'
    words = "a long-haul link fails" if link.joins_sites else "a link to the long haul fails"
    return Condition(FAILED_LINK, f"{words} ({link.name})", None, {"": text})
