"""Deployment by an engineer: a script for hosts that gives routes their algorithm, and the marking thresholds for switches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from farloop import catalogue, units
from farloop.results import capped
from farloop.scenario import Scenario
from farloop.studies.arena import requirements
from farloop.units import bytes_text, rate_text, time_text

MODULES = {"cubic-ecn": "cubic", "reno-linux": "reno"}
"""Linux names of the algorithms that have another name here."""

PACED = {"bbr", "bbr3", "gear"}
"""Algorithms that set a pacing rate."""

MAX_BUFFER = 2**31 - 1
"""The largest value of tcp_rmem and tcp_wmem."""


@dataclass(frozen=True)
class HostAlgorithm:
    """An algorithm as a Linux host has it.

    Attributes:
        name: Name in the kernel.
        load: The command that brings it; `modprobe` runs by itself, another is for people.
        needs_ecn: True if its routes must ask for ECN.
        is_paced: True if it sets a pacing rate.
    """

    name: str
    load: str
    needs_ecn: bool
    is_paced: bool

    @classmethod
    def from_algorithm(cls, algorithm: str, kernel_load: str = "") -> HostAlgorithm | None:
        """The algorithm; `None` where no Linux host has it.

        Args:
            algorithm: Its name in scenarios.
            kernel_load: The command that loads it where `farloop kernel` has it.
        """
        how = requirements.on_linux(algorithm)
        if not how:
            return None
        name = MODULES.get(algorithm, algorithm)
        load = kernel_load if how == "farloop kernel" else f"modprobe tcp_{name}"
        needs_ecn = bool(catalogue.algorithm(algorithm)["needs"]["ecn"]) or algorithm == "cubic-ecn"
        return cls(name, load, needs_ecn, algorithm in PACED)


def split_scopes(algorithm: str) -> tuple[str, str]:
    """The algorithms inside a site and across sites: "dctcp/bbr" has two, every other name stands for both."""
    inside, _, across = algorithm.partition("/")
    return inside, across or inside


def script(inside: HostAlgorithm, across: HostAlgorithm, scenario: Scenario, name: str) -> str:
    """A shell script for the hosts at both ends.

    Args:
        inside: The algorithm of prefixes inside a site.
        across: The algorithm of prefixes of other sites.
        scenario: The scenario of the advice; rates, RTTs and thresholds come from it.
        name: The script's file name.

    Raises:
        ScenarioError: the scenario is not valid.
    """
    body = files("farloop").joinpath("templates", "deploy.sh.txt").read_text("utf-8")
    title = str(scenario.resolved.get("title", "")) or scenario.display_name
    words = inside.name if inside == across else f"{inside.name} inside sites, {across.name} across"
    head = [
        "#!/bin/sh",
        f"# {words}: {_strip_lines(title)}",
        "#",
        f"#   sudo sh {name} inside PREFIX GATEWAY DEVICE across PREFIX GATEWAY DEVICE",
        f"#   sudo sh {name} --undo",
        "#",
        "# For the hosts of all sites: a route decides for the connections that its own host opens and accepts, and each end sends by its",
        "# own algorithm. PREFIX is that of a site, such as 10.1.0.0/16, GATEWAY the next hop to it, or - for a prefix on the link. More",
        "# prefixes follow in the same way. No other connection changes: the host's default algorithm and ECN stay as they are.",
        "# DHCP clients and routing daemons (NetworkManager, systemd-networkd, FRR, BIRD) rewrite routes: give them the same attributes,",
        "# or run this after them. A reboot undoes all of it.",
        *_switch_lines(scenario, inside, across),
        *_window_lines(scenario),
        *_variables("inside", inside),
        *_variables("across", across),
        *_buffer_lines(scenario),
    ]
    return "\n".join(head) + "\n" + body


def _strip_lines(text: str) -> str:
    """A text that cannot end a comment."""
    return " ".join(text.split())


def _variables(scope: str, algorithm: HostAlgorithm) -> list[str]:
    features = "features ecn" if algorithm.needs_ecn else ""
    return [
        f"{scope}={algorithm.name}",
        f"{scope}_features='{features}'",
        f"{scope}_load='{algorithm.load}'",
        f"{scope}_paced={'yes' if algorithm.is_paced else ''}",
    ]


def _buffer_lines(scenario: Scenario) -> list[str]:
    """Twice the largest bandwidth-delay product, which a socket may hold: half of it is for headers and what waits for the program."""
    network = scenario.forecast["network"]
    kind, bdp = max(network["bdp_bytes"].items(), key=lambda item: item[1])
    buffer = min(MAX_BUFFER, math.ceil(2 * bdp))
    rate, rtt = rate_text(network["line_rate_bps"]), time_text(network["base_rtt"][kind][1])
    return [
        f"# The largest tcp_rmem and tcp_wmem: 2 BDP of {rate} and {rtt}, in bytes. Other connections of the host may use them, too.",
        f"buffer={buffer}",
    ]


def _switch_lines(scenario: Scenario, inside: HostAlgorithm, across: HostAlgorithm) -> Iterator[str]:
    """The marking thresholds of switches and routers, in bytes."""
    yield "#"
    yield "# For switches, as they were simulated:"
    for section, words in (("switch", "switches"), ("wan_switch", "border routers")):
        facts = scenario.forecast["network"].get(section)
        table = scenario.resolved.get(section)
        if not facts or not table:
            continue
        if not facts["ecn"]:
            yield f"#   {words}: no ECN; buffer {round(facts['buffer_bytes'])} bytes"
            continue
        for port in facts["ecn"]:
            low, high = (round(port[key] * port["rate_bps"] / 8) for key in ("kmin_s", "kmax_s"))
            yield (
                f"#   {words}, ports of {rate_text(port['rate_bps'])}: WRED/ECN min {low} bytes, max {high} bytes, "
                f"probability {100 * float(table['pmax']):g} %; buffer {round(facts['buffer_bytes'])} bytes"
            )
    if inside.needs_ecn != across.needs_ecn:
        yield "#   WRED drops packets without ECT where it marks others: flows of the other algorithm need a queue of their own."


def _window_lines(scenario: Scenario) -> Iterator[str]:
    """A receive window that was simulated and that the script's buffers lift."""
    limited = capped_sentences(scenario)
    if limited:
        window = bytes_text(units.size(str(scenario.resolved["transport"]["receive_window"])))
        bdp = math.ceil(max(scenario.forecast["network"]["bdp_bytes"].values()))
        yield "#"
        yield f"# The simulation had a receive window of {window}, which kept flows below the rates of their paths."
        yield f"# The buffers below lift it: ask again with --set {capped.KEY}={bdp}B before you rely on the answer."


def capped_sentences(scenario: Scenario) -> list[str]:
    """The flows that the receive window of a scenario keeps below the rates of their paths."""
    return [text for text in scenario.forecast["cautions"] if capped.KEY in text]
