"""Links that fail and change, as a user sees them."""

from pathlib import Path

import numpy as np
import pytest

import farloop
from farloop.results.network_map import build_map

EXAMPLE = Path(__file__).parents[2] / "examples" / "failure.toml"
SHORT = {"run.duration": "12ms", "event.1.at": "4ms", "event.2.at": "8ms"}


@pytest.fixture(scope="module")
def failure():
    return farloop.run(EXAMPLE, set=SHORT)


def port(run, node, peer):
    (row,) = [row for row in run.ports.to_pylist() if (row["node"], row["peer"]) == (node, peer)]
    return row


def test_what_a_failing_link_loses_is_counted_by_cause(failure):
    lost = failure.info["totals"]
    assert lost["lost_down"] > 0 and lost["dropped_down"] > 0 and lost["dropped_unrouted"] == 0
    ends = [port(failure, "leaf1", "spine1"), port(failure, "spine1", "leaf1")]
    assert sum(row["lost_down"] for row in ends) == lost["lost_down"]
    assert sum(row["dropped_down"] for row in ends) == lost["dropped_down"]
    assert failure.summary["dropped"] >= lost["dropped_down"] and failure.summary["lost"] == lost["lost_down"]
    assert all(event["links"] == ["leaf1<->spine1"] for event in failure.info["events"])


def test_a_port_that_drops_only_by_link_failure_is_the_worst_by_drops(failure):
    causes = {cause for cause, n in failure.info["totals"].items() if cause.startswith("dropped_") and n}
    assert causes == {"dropped_down"}
    rows = failure.ports.to_pylist()
    most = max(rows, key=lambda row: row["dropped_down"])
    worst = failure.summary["worst"]["drops"]
    assert (worst["port"], worst["drops"]) == (f"{most['node']}->{most['peer']}", most["dropped_down"])
    drawn = build_map(failure.ports).totals(failure)["dropped"]
    assert drawn.sum() == failure.summary["dropped"], "the map counts all causes, too"


def test_flows_move_to_the_other_spine_and_back(failure):
    """Both spines carry data before and after, one of them meanwhile; routes change a millisecond after the link."""

    def utilisation(peer):
        return failure.samples.get(f"port/leaf1->{peer}", "utilisation")

    (times, failed), (_, other) = utilisation("spine1"), utilisation("spine2")
    down = (times > 4.3e-3) & (times < 9e-3)
    assert np.all(failed[down] == 0.0), "it comes up at 8 ms, and the routes follow at 9 ms"
    assert np.mean(other[(times > 6e-3) & (times < 9e-3)]) > 0.9
    both = times > 10e-3
    assert np.mean(failed[both]) > 0.3 and np.mean(other[both]) > 0.3


def test_the_commands_and_the_report_say_what_happens(command, failure):
    explained = command("explain", str(EXAMPLE))
    assert explained.returncode == 0, explained.stderr
    assert "leaf1<->spine1" in explained.stdout and "25 ms" in explained.stdout
    failure.save(command.directory / "out")
    page = (command.directory / "out" / "report.html").read_text("utf-8")
    assert '<h3 id="events">Links</h3>' in page and "leaf1&lt;-&gt;spine1" in page
    assert '"dash":"dot"' in page


def test_an_event_for_no_link_is_refused(command):
    done = command("run", str(EXAMPLE), "--set", "event.1.link=leaf1<->spine9")
    assert done.returncode == 2
    assert '--set: event.1.link: there is no link "leaf1<->spine9"; did you mean "leaf1<->spine1"?' in done.stderr
