"""Rollouts as far as no rights are needed: sums of sockets, limits, effects, the log, messages of netlink, the local socket."""

import json
import os
import shutil
import socket
import struct
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from farloop.errors import FarloopError
from farloop.kernel import doctor, programs
from farloop.kernel.rollout import breaches, control, host_checks, predict, run_log, selection, sockets
from farloop.kernel.rollout.notify import notify
from farloop.kernel.rollout.rollout_plan import Limit, read_plan
from farloop.kernel.rollout.tally import Completions, Rates, Sums, Tally, rates_of
from farloop.kernel.tcp_info import read_fields

ROOT = Path(__file__).parents[2]
PLAN = '[plan]\nname = "a"\nalgorithm = "cubic"\n[select]\nto = ["10.0.0.0/8"]\n'


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(PLAN)
    return read_plan(path)


def connection(cookie, **fields):
    values = read_fields(b"") | fields
    return sockets.Socket(cookie, cookie, "cubic", 0, 1, "192.0.2.1:1", "10.0.0.1:443", values)


def test_counters_are_differences_and_the_end_of_short_connections_counts():
    tally = Tally()
    arms = {1: "moved", 2: "unmoved", 3: "moved"}
    tally.add(0.0, {1: connection(1, bytes_acked=1000, data_segs_out=10)}, [], arms)
    # What 1 did before the watch is not counted; 3 came and went between two looks.
    living = {
        1: connection(1, bytes_acked=5000, data_segs_out=40, rtt=2000, delivered=30),
        2: connection(2, bytes_acked=700),
    }
    gone = tally.add(1.0, living, [connection(3, bytes_acked=300, data_segs_out=2, total_retrans=1)], arms)
    assert gone == {3}
    assert tally.sums["moved"] == Sums(4300, 32, 1, 30, 0, pytest.approx(0.06), 30, 1, 1.0)
    assert tally.sums["unmoved"].bytes == 700 and tally.living == {"moved": 1, "unmoved": 1, "others": 0}
    # Counters of 32 bits wrap.
    tally.add(2.0, {1: connection(1, bytes_acked=5000, data_segs_out=2**32 - 1, delivered=30)}, [], arms)
    before = tally.sums["moved"].segments
    tally.add(3.0, {1: connection(1, bytes_acked=5000, data_segs_out=4, delivered=30)}, [], arms)
    assert tally.sums["moved"].segments == before + 5
    sums, duration = tally.sums_since(2.0)
    assert (sums["moved"].segments, duration) == (5, 1.0)


def test_rates_need_some_segments():
    assert rates_of(Sums(bytes=1000, segments=19, retransmitted=19), 2.0) == Rates(delivery=4000.0)
    rates = rates_of(
        Sums(bytes=1000, segments=20, retransmitted=1, delivered=10, marked=5, rtt_seconds=0.2, rtt_segments=10), 1
    )
    assert (rates.retransmissions, rates.marks, rates.rtt) == (0.05, 0.5, 0.02)


@pytest.mark.parametrize(
    ("limit", "arm", "value"),
    [
        (Limit("retransmissions", 0.02, False, "0.02"), "moved", 0.1),
        (Limit("rtt", 1.5, True, "1.5x"), "moved", 0.05),
        (Limit("delivery", 1e6, False, "1Mbps"), "class", 16000),
        (Limit("completions", 2.0, True, "2x"), "class", 10),
        (Limit("completion_time", 0.1, False, "100ms"), "class", 0.2),
    ],
)
def test_limits_hold_for_each_arm(limit, arm, value):
    moved = Sums(bytes=1000, segments=100, retransmitted=10, rtt_seconds=5, rtt_segments=100)
    sums = {
        "moved": moved,
        "unmoved": Sums(bytes=1000, segments=9000, rtt_seconds=1, rtt_segments=100),
        "others": Sums(),
    }
    whole = breaches.class_rates(sums, 1.0, (10, 0.2))
    breach = breaches.find_breach([limit], sums, 1.0, whole, {"rtt": 0.02, "completions": 10})
    assert breach is not None and (breach.arm, breach.value) == (arm, pytest.approx(value))
    assert limit.key in breach.sentence() and limit.text in breach.sentence()
    # Nothing to compare with, or enough of it.
    assert breaches.find_breach([Limit("marks", 2.0, True, "2x")], sums, 1.0, whole, {"marks": 0.0}) is None
    assert breaches.find_breach([Limit("rtt", 1.0, False, "1s")], sums, 1.0, whole, None) is None


def test_a_naive_ratio_says_that_it_is_no_effect():
    sums = {
        "moved": Sums(bytes=300, connection_seconds=1.0),
        "unmoved": Sums(bytes=400, connection_seconds=2.0),
        "others": Sums(),
    }
    naive = breaches.naive_ratios(sums, 1.0)
    assert naive["moved_over_unmoved"] == {"delivery": 1.5, "retransmissions": None, "marks": None, "rtt": None}
    assert naive["reading"] == "not an effect: both arms share their queues"
    sums["unmoved"].connection_seconds = 0.5
    assert breaches.naive_ratios(sums, 1.0)["moved_over_unmoved"]["delivery"] is None


def test_blocks_are_balanced_and_depend_on_the_seed(plan, tmp_path):
    path = tmp_path / "b.toml"
    seen = set()
    for seed in range(20):
        path.write_text(PLAN.replace("[select]", f"seed = {seed}\n[select]") + "[switchback]\nblocks = 8\n")
        blocks = breaches.draw_blocks(read_plan(path))
        assert all(a != b for a, b in zip(blocks[::2], blocks[1::2], strict=True))
        assert blocks == breaches.draw_blocks(read_plan(path))
        seen.add(tuple(blocks))
    assert len(seen) > 8


def test_a_switchback_finds_an_effect_and_says_where_there_is_none():
    noise = [1.0, 1.02, 0.98, 1.01, 0.99, 1.0, 1.03, 0.97]
    on = [asdict(Rates(delivery=1.2e6 * x, rtt=0.02 * x, retransmissions=0.0)) for x in noise]
    off = [asdict(Rates(delivery=1e6 * x, rtt=0.02 / x, retransmissions=0.01)) for x in reversed(noise)]
    rows = {row["metric"]: row for row in breaches.judge_blocks(on, off)}
    assert rows["delivery"]["verdict"] == "more" and rows["delivery"]["ratio"] == pytest.approx(1.2, rel=0.02)
    assert rows["rtt"]["verdict"] == "undecided"
    # No ratio to nothing, but the same sign in all eight pairs.
    assert rows["retransmissions"]["ratio"] is None and rows["retransmissions"]["verdict"] == "less"
    assert "marks" not in rows and breaches.judge_blocks([], []) == []


def test_a_run_that_was_killed_is_found_in_its_log(plan, tmp_path):
    path = tmp_path / "a.jsonl"
    assert run_log.unfinished_run(path, plan) == (0, None)
    log = run_log.Journal(path, plan)
    log.write("begin", digest=run_log.digest(plan))
    log.write("baseline", rates={"rtt": 0.01})
    log.write("passed", step=1)
    log.close()
    with path.open("a") as stream:
        stream.write('{"event": "pas')
    assert run_log.unfinished_run(path, plan) == (1, {"rtt": 0.01})
    plan.path.write_text(PLAN + '[steps]\nhold = "5s"\n')
    log = run_log.Journal(path, plan)
    log.write("begin", digest=run_log.digest(plan))
    assert run_log.unfinished_run(path, plan) == (0, None)
    log.write("passed", step=2)
    log.write("end", result="undone")
    log.close()
    assert run_log.unfinished_run(path, plan) == (0, None)
    with pytest.raises(FarloopError, match="the log cannot be written: Is a directory"):
        run_log.Journal(tmp_path, plan)


def test_bytes_of_the_kernel_become_sockets_or_nothing():
    def attribute(kind, data):
        return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)

    head = bytearray(72)
    head[:2] = socket.AF_INET, 1
    struct.pack_into(">2H", head, 4, 40000, 443)
    head[8:12], head[24:28] = bytes([192, 0, 2, 1]), bytes([10, 0, 0, 1])
    struct.pack_into("=Q", head, 44, 77)
    struct.pack_into("=I", head, 68, 99)
    # In TIME_WAIT there are no counters.
    assert sockets.parse_socket(bytes(head) + attribute(4, b"gemini.2\0")) is None
    body = bytes(head) + attribute(2, bytes(240)) + attribute(4, b"gemini.2\0") + attribute(21, struct.pack("=Q", 5))
    s = sockets.parse_socket(body)
    assert (s.cookie, s.inode, s.control, s.cgroup) == (77, 99, "gemini.2", 5)
    assert (s.source, s.destination) == ("192.0.2.1:40000", "10.0.0.1:443")
    # Whatever is cut short is no error.
    for length in range(len(body)):
        sockets.parse_socket(body[:length])
    assert sockets.parse_socket(body[:71]) is None


def test_the_algorithm_gets_a_name_with_a_version():
    code = doctor.object_file("cubic")
    if not code.exists():
        pytest.skip("the programs are not compiled")
    renamed = programs.rename_control(code.read_bytes(), "farloop_cubic", "farloop_cubic.2")
    assert len(renamed) == code.stat().st_size and b"farloop_cubic.2\0" in renamed
    with pytest.raises(FarloopError, match="has no algorithm gemini"):
        programs.rename_control(code.read_bytes(), "gemini", "gemini.2")


def test_settings_and_prefixes_are_packed_as_the_program_reads_them(plan):
    settings = selection.Settings(5, 6, 7, 0.5, 9, "gemini.2", "cubic")
    assert selection.Settings.parse(settings.pack()) == settings
    assert len(settings.pack()) == 72
    assert selection.pack_prefix(plan.prefixes[0]) == struct.pack("=I", 104) + bytes(10) + b"\xff\xff\x0a" + bytes(3)


def test_a_host_that_lacks_something_is_named(plan, monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "BTF", tmp_path / "vmlinux")
    problems = host_checks.problems_of(plan)
    assert any(line.startswith("BTF: ") and "CONFIG_DEBUG_INFO_BTF=y" in line for line in problems)
    with pytest.raises(FarloopError, match=r"a\.toml: "):
        host_checks.check_host(plan)
    monkeypatch.setattr(selection, "find_cgroup", lambda: None)
    monkeypatch.setattr(doctor, "_read", lambda _path: "cgroup /sys/fs/cgroup/cpu cgroup rw 0 0")
    assert any("only cgroup v1 is mounted" in line for line in host_checks.problems_of(plan))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PLAN.replace("[select]", f'cgroup = "{ROOT}"\n[select]'), "is no cgroup of version 2"),
        (PLAN + 'namespaces = ["/run/netns/nothing"]\n', "no such network namespace"),
        (PLAN + 'former = "nothing"\n', "select.former: this kernel has no nothing"),
        (PLAN.replace('"cubic"', '"dctcp"'), "receiver.ready: dctcp needs receivers that echo every mark"),
    ],
)
def test_what_the_plan_asks_of_the_host_is_checked(tmp_path, text, message):
    path = tmp_path / "a.toml"
    path.write_text(text)
    assert any(message in line for line in host_checks.problems_of(read_plan(path)))


def test_the_local_socket_answers(plan):
    texts = {"/metrics": "farloop_rollout_share 0.5\n", "/status": '{"plan": "a"}\n'}
    name = f"test-{os.getpid()}"
    server = control.ControlServer(name, ("127.0.0.1", 0), texts.get)
    try:
        server.start()
        assert control.ask(name, "GET", "/metrics") == texts["/metrics"]
        assert json.loads(control.ask(name, "GET", "/status")) == {"plan": "a"}
        assert "was asked for" in control.ask(name, "POST", "/undo") and server.requests.get() == "undo"
        with pytest.raises(FarloopError, match="expected /metrics or /status"):
            control.ask(name, "GET", "/nothing")
        with pytest.raises(FarloopError, match="runs already"):
            control.ControlServer(name, None, texts.get)
        # Who comes by the loopback may read, and nothing else.
        port = server._sockets[1].getsockname()[1]
        for method, status in (("GET", "200"), ("POST", "403")):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                connection.sendall(f"{method} {'/metrics' if method == 'GET' else '/undo'} HTTP/1.1\r\n\r\n".encode())
                assert connection.recv(100).split()[1].decode() == status
    finally:
        server.close()
    assert control.ask(name, "GET", "/status") is None


def test_prometheus_reads_the_metrics():
    tally = Tally()
    state = {"share": 0.5, "state": "step", "lost": 0, "unseen": {}, "counts": {"seen": 3}, "living": tally.living}
    text = control.prometheus_text("a", state | {"sums": {arm: asdict(sums) for arm, sums in tally.sums.items()}})
    assert 'farloop_rollout_selected_total{plan="a",what="seen"} 3\n' in text
    assert 'farloop_rollout_acked_bytes_total{plan="a",arm="moved"} 0\n' in text
    for line in text.splitlines():
        assert line.startswith("# TYPE farloop_rollout_") or len(line.rsplit(" ", 1)) == 2


def test_completions_come_from_a_fifo(tmp_path):
    path = tmp_path / "fifo"
    with pytest.raises(FarloopError, match=r"No such file or directory; limits\.fifo expects a FIFO"):
        Completions(path)
    path.touch()
    with pytest.raises(FarloopError, match="is no FIFO; `mkfifo"):
        Completions(path)
    path.unlink()
    os.mkfifo(path)
    completions = Completions(path)
    with path.open("w") as stream:
        for number in range(100):
            stream.write(json.dumps({"seconds": (number + 1) / 1000}) + "\n")
        stream.write('{"seconds": -1}\nnothing\n{"seconds": true}\n[]\n{"seconds": 9')
        stream.flush()
        completions.read(10.0)
        assert completions.rate_since(5.0, 5.0) == (20.0, 0.099) and completions.wrong == 4
        stream.write("}\n")
        stream.flush()
        completions.read(20.0)
    assert completions.rate_since(15.0, 5.0) == (0.2, 9.0)
    assert completions.rate_since(25.0, 0.0) == (None, None)
    completions.close()


def test_a_service_manager_is_notified(monkeypatch, tmp_path):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify("READY=1")
    for address in (str(tmp_path / "notify"), f"@farloop-test-{os.getpid()}"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(address.replace("@", "\0"))
            manager.settimeout(5)
            monkeypatch.setenv("NOTIFY_SOCKET", address)
            notify("READY=1")
            assert manager.recv(100) == b"READY=1"


def test_systemd_accepts_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is missing")
    for name in ("farloop-rollout@.service", "farloop-rollout@a.service"):
        shutil.copy(ROOT / "examples" / "farloop-rollout@.service", tmp_path / name)
    done = subprocess.run(
        ["systemd-analyze", "verify", tmp_path / "farloop-rollout@a.service"], capture_output=True, text=True
    )
    lines = [line for line in done.stderr.splitlines() if "farloop" in line]
    assert (done.returncode, lines) == (0, [])


def test_the_simulator_predicts_that_the_naive_comparison_has_the_wrong_sign():
    """examples/rollout.toml: moved flows get less than the others, and all together get more when all are moved."""
    rows = predict.predict_shares(read_plan(ROOT / "examples" / "rollout.toml"))
    none, few, half, whole = rows
    assert [row["share"] for row in rows] == [0.0, 0.05, 0.5, 1.0] and [row["moved"] for row in rows] == [0, 1, 2, 4]
    for row in (few, half):
        assert row["moved_bps"] < 0.9 * row["unmoved_bps"]
    assert whole["all_bps"] > 1.02 * none["all_bps"]
    assert whole["retransmissions"] < 0.5 * none["retransmissions"]


def test_what_cannot_be_predicted_is_refused(plan, tmp_path):
    with pytest.raises(FarloopError, match=r"predict.scenario is missing; expected the path of a scenario"):
        predict.predict_shares(plan)
    text = (ROOT / "examples" / "rollout-testbed.toml").read_text()
    (tmp_path / "s.toml").write_text(text.replace("reno-linux", "cubic"))
    plan.path.write_text(PLAN + '[predict]\nscenario = "s.toml"\n')
    with pytest.raises(FarloopError, match=r"algorithm\.name is cubic already"):
        predict.predict_shares(read_plan(plan.path))
    (tmp_path / "s.toml").write_text(text[: text.index("[[flow]]")])
    with pytest.raises(FarloopError, match=r"expected \[\[flow\]\] entries"):
        predict.predict_shares(read_plan(plan.path))
