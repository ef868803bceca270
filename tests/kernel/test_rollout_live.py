"""Rollouts in the kernel that runs the tests. As root, and where nothing is missing; otherwise skipped, with the reason."""

import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from support import live
from support.cases import cases
from support.live_network import missing_tools
from support.rollout_host import rollout_host, settled_state, steady_state

from farloop.errors import FarloopError
from farloop.kernel import doctor
from farloop.kernel.programs import is_available
from farloop.kernel.rollout import control, selection, standing

pytestmark = pytest.mark.live
PLANS = "farloop_cubic."
"""How the algorithms of these plans begin."""


@pytest.fixture
def host(kernel_objects, monkeypatch, tmp_path):
    """A host with traffic; it is afterwards as it was."""
    live.needs_programs(missing_tools())
    monkeypatch.setattr(doctor, "OBJECTS", kernel_objects)
    if not doctor.cgroup_check().ok and "cgroup2" not in Path("/proc/filesystems").read_text():
        pytest.skip("this kernel has no cgroup v2")
    before = steady_state()
    with rollout_host(tmp_path) as made:
        yield made
    assert settled_state(before) == before


def until(what, patience=10.0):
    """Waits until something is true; returns whether it is."""
    latest = time.monotonic() + patience
    while not what() and time.monotonic() < latest:
        time.sleep(0.05)
    return what()


def moved(host):
    """How many connections of the traffic have an algorithm of a plan."""
    return sum(control.startswith(PLANS) for control in host.controls().values())


def is_back(host, plan):
    """True if nothing of a plan is left."""
    return not is_available(plan.control) and not moved(host)


def test_a_good_plan_widens_commits_and_is_undone(host):
    plan = host.write_plan("[limits]\nretransmissions = 0.5\n", finish='"commit"')
    process = host.start(plan)
    assert host.wait(process) == 0, host.log(plan)
    events = [line["event"] for line in host.log(plan)]
    assert events.count("passed") == 2 and events[-1] == "end"
    assert host.log(plan)[-1]["result"] == "committed"
    # Without a process it goes on: new connections have the algorithm.
    (state,) = host.call(standing.list_plans)
    assert (state["plan"], state["state"], state["share"]) == ("probe", "committed", 1.0)
    assert until(lambda: moved(host) >= 3)
    # To carry it out again is nothing to do.
    assert host.wait(host.start(plan)) == 0
    assert host.log(plan)[-1]["result"] == "committed"
    idle = host.call(lambda: standing.undo_plan("probe"))
    assert idle == []
    assert until(lambda: is_back(host, plan))
    with pytest.raises(FarloopError, match="no plan of that name runs or is committed; there is none"):
        host.call(lambda: standing.undo_plan("probe"))


def test_a_bad_plan_is_taken_back_within_five_seconds(host):
    plan = host.write_plan('[limits]\nrtt = "1ns"\n', shares="[1.0]", hold='"60s"')
    process = host.start(plan)
    assert host.wait(process) == 3
    log = host.log(plan)
    step = next(line for line in log if line.get("state") == "step")
    breach = next(line for line in log if line["event"] == "breach")
    end = log[-1]
    assert breach["key"] == "rtt" and end["result"] == "undone" and end["idle"] == 0
    assert end["counts"]["moved"] > 0
    seconds = [float(line["time"][17:23]) + 60 * float(line["time"][14:16]) for line in (step, end)]
    assert (seconds[1] - seconds[0]) % 3600 < 5
    assert is_back(host, plan)


@pytest.mark.long
def test_kills_at_any_time_leave_the_host_as_it_was(host):
    before = steady_state()
    chance = random.Random(52)
    for _ in range(cases(30)):
        plan = host.write_plan(
            hold='"1s"', baseline='"0s"', take_back='"10s"', shares="[0.3, 0.6, 1.0]", finish='"wait"'
        )
        process = host.start(plan)
        time.sleep(chance.uniform(0.02, 2.5))
        os.kill(process, signal.SIGKILL)
        assert host.wait(process) == -signal.SIGKILL
        assert until(lambda plan=plan: is_back(host, plan)), host.controls()
        plan.path.with_suffix(".jsonl").unlink(missing_ok=True)
    assert settled_state(before) == before


@pytest.mark.long
def test_a_kill_in_each_change_of_state(host):
    """At each line of the log that announces or ends a change: the plan is taken back, or committed."""
    plan = host.write_plan(finish='"commit"', shares="[1.0]", baseline='"0s"')
    process = host.start(plan)
    assert host.wait(process) == 0
    lines = len(host.log(plan))
    host.call(lambda: standing.undo_plan("probe"))
    assert until(lambda: is_back(host, plan))
    ends = []
    for line in range(1, lines + 1):
        plan.path.with_suffix(".jsonl").unlink()
        process = host.start(plan)
        assert until(lambda line=line: len(host.log(plan)) >= line)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
        host.wait(process)
        assert until(lambda: is_back(host, plan) or host.call(lambda: standing.is_committed("probe")))
        if host.call(lambda: standing.is_committed("probe")):
            ends.append("committed")
            host.call(lambda: standing.undo_plan("probe"))
            assert until(lambda: is_back(host, plan))
        else:
            ends.append("undone")
            assert host.call(lambda: selection.PINS.exists()) is False
    assert ends[0] == "undone" and ends[-1] == "committed", ends


def test_a_stopped_process_selects_nothing_and_takes_back(host):
    plan = host.write_plan(shares="[1.0]", hold='"60s"')
    process = host.start(plan)
    assert until(lambda: moved(host) >= 3)
    os.kill(process, signal.SIGSTOP)
    assert until(lambda: not moved(host), 5.0)
    os.kill(process, signal.SIGCONT)
    assert host.wait(process) == 3
    assert "heartbeat was" in host.log(plan)[-1]["why"]
    assert is_back(host, plan)


def test_a_run_that_was_killed_goes_on(host):
    plan = host.write_plan(shares="[0.5, 1.0]", baseline='"1s"', hold='"1s"')
    process = host.start(plan)
    assert until(lambda: any(line["event"] == "passed" for line in host.log(plan)))
    os.kill(process, signal.SIGKILL)
    host.wait(process)
    first = len(host.log(plan))
    assert host.wait(host.start(plan)) == 0
    again = host.log(plan)[first:]
    assert again[0]["resumes_after"] == 1
    assert [line["event"] for line in again if line["event"] in ("baseline", "resumed", "passed")] == [
        "resumed",
        "passed",
    ]


def test_two_plans_at_the_same_time(host):
    """Each has its own version and class; what one has moved the other leaves alone."""
    first = host.write_plan(shares="[1.0]", hold='"60s"', baseline='"0s"')
    second = host.write_plan(name="other", version=8, shares="[1.0]", hold='"60s"', baseline='"0s"')
    owner = host.start(first)
    assert until(lambda: moved(host) >= 3)
    other = host.start(second)
    assert until(lambda: any(line.get("state") == "step" for line in host.log(second)))
    time.sleep(1)
    assert {state["plan"] for state in host.call(standing.list_plans)} == {"probe", "other"}
    assert "farloop_cubic.8" not in host.controls().values()
    host.call(lambda: standing.undo_plan("probe"))
    host.wait(owner)
    # Now they are free, and the second one has them.
    assert until(lambda: "farloop_cubic.8" in host.controls().values())
    assert until(lambda: "farloop_cubic.7" not in host.controls().values())
    host.call(lambda: standing.undo_plan("other"))
    assert host.wait(other) == 3
    assert is_back(host, second)


def test_the_guardian_is_missed(host):
    plan = host.write_plan(shares="[1.0]", hold='"60s"', baseline='"0s"')
    process = host.start(plan)
    assert until(lambda: moved(host) >= 3)
    (guardian,) = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    os.kill(int(guardian), signal.SIGKILL)
    assert host.wait(process) == 3
    assert "guardian ended" in host.log(plan)[-1]["why"]
    assert is_back(host, plan)


@pytest.mark.parametrize("role", ["connect", "both"])
def test_connections_of_gemini_ask_for_ecn(host, role):
    """Linux refuses ECN to an ECT-marked SYN where the listener's algorithm has none, unless the program answers for the request."""
    parameters = '[parameters]\ncapacity = "1Gbps"\n[receiver]\nready = true\n'
    plan = host.write_plan(
        parameters, algorithm="gemini", select=f'role = "{role}"', shares="[1.0]", hold='"3s"', baseline='"0s"'
    )
    code = host.wait(host.start(plan))
    passed = [line for line in host.log(plan) if line["event"] == "passed"]
    if role == "both":
        assert code == 0, host.log(plan)
        ecn = passed[0]["ecn"]
        assert ecn["agreed"] == ecn["moved"] > 0
    else:
        assert (code, passed) == (3, [])
        assert "moved connections agreed on ECN" in host.log(plan)[-1]["why"]
    assert is_back(host, plan)


def test_sockets_of_before_are_reached_through_their_processes(host):
    """Two connections of the traffic never end: they began before the plan, and one pass of it moves them and takes them back."""
    plan = host.write_plan(select="live = true\nexisting = true", shares="[1.0]", hold='"3s"', baseline='"0s"')
    process = host.start(plan)
    assert until(lambda: any(line["event"] == "existing" for line in host.log(plan)))
    assert until(lambda: moved(host) >= 5)
    assert host.wait(process) == 0
    existing = next(line for line in host.log(plan) if line["event"] == "existing")
    # One of the short connections may end between being seen and being reached.
    assert existing["moved"] >= 2 and existing["not_reached"] <= 2
    assert host.log(plan)[-1]["idle"] == 0
    assert is_back(host, plan)


def test_the_command_tells_a_service_manager_and_metrics(host, kernel_objects, tmp_path):
    """Under a socket as systemd has it; farloop was never run under systemd itself here."""
    plan = host.write_plan(shares="[1.0]", hold='"3s"', baseline='"1s"')
    words = [
        "nsenter",
        f"--mount=/proc/{host.holder}/ns/mnt",
        "--",
        *live.farloop(kernel_objects, "kernel", "rollout", str(plan.path)),
    ]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(30)
        environment = {**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")}
        with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as command:
            messages = []
            while "STATUS=step, share 1" not in messages:
                messages.append(manager.recv(1000).decode())
            time.sleep(1.2)
            metrics = control.ask("probe", "GET", "/metrics")
            output = command.stdout.read()
    assert command.returncode == 0
    assert messages.index("READY=1") < messages.index("STATUS=step, share 1") and "WATCHDOG=1" in messages
    assert 'farloop_rollout_share{plan="probe"} 1.0' in metrics
    assert float(re.search(r'acked_bytes_total\{plan="probe",arm="moved"\} (\d+)', metrics)[1]) > 0
    assert "passed: step 1, share 1" in output and output.endswith("probe: undone\n")
