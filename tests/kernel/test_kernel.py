"""The kernel half as far as no rights are needed: parameters, what is missing, what the kernel's bytes mean."""

import json
import random
import shutil
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.cases import cases
from typer.testing import CliRunner

from farloop.commands.app import app
from farloop.errors import FarloopError
from farloop.kernel import baselines, doctor, gemini, programs, recording, settings

ROOT = Path(__file__).parents[2]


PROGRAMS = (gemini.GEMINI, baselines.CUBIC, baselines.DCTCP, baselines.VEGAS)


def run(*words):
    return CliRunner().invoke(app, ["kernel", *words])


def recorded(name):
    lines = (ROOT / "vectors" / "gemini.jsonl").read_text().splitlines()
    return next(line for line in map(json.loads, lines[1:]) if line.get("flow") == name)


@pytest.mark.parametrize(
    ("flow", "given"),
    [
        ("testbed, across", ["capacity=1Gbps"]),
        ("testbed, across, judged afresh after cuts", ["capacity=1Gbps", "skip_after_cut=true"]),
        ("slow and long", ["capacity=1Mbps"]),
        ("gentle cuts", ["capacity=40Gbps", "max_cut=0.5", "initial_alpha=0", "beta=0.5", "g=0.5"]),
        ("Gear's settings, across", ["capacity=100Gbps", "f_min=0.05", "h=3e-7", "h_min=none", "h_max=none"]),
        ("a host, F at its bound", ["capacity=100Mbps", "f_min=4"]),
    ],
)
def test_parameters_become_the_constants_that_the_simulator_makes_of_them(flow, given):
    constants, then = settings.constants(settings.parameters(given)), recorded(flow)
    for name in settings.NAMES[1:-1]:
        assert constants[name] == then[name], name
    assert (constants["skip_after_cut"], constants["initial_alpha"]) == (then["skip_after_cut"], then["initial_alpha"])
    # The kernel paces payload, the simulator what is on the wire.
    assert constants["gain"] == 1.25 * 2**16
    assert round(constants["gain"] * 1538 / 1460) == then["gain"]


def test_constants_are_packed_as_the_program_reads_them():
    constants = settings.constants(settings.parameters(["capacity=1Gbps", "ecn_threshold=75kB", "delay_threshold=2ms"]))
    numbers = settings.LAYOUT.unpack(settings.pack_settings(constants))
    assert numbers[:4] == (0, 125_000, 75_000, 2_000_000)
    assert numbers[-4:] == (0, 0, 1 << 30, 0)
    assert settings.LAYOUT.unpack(settings.pack_settings(constants, record=True))[-1] == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "C is not known: say the rate of the access link"),
        (["capacity"], "--set capacity: expected KEY=VALUE, such as capacity=10Gbps"),
        (["capacity=1"], "--set: capacity: 1 is a whole number; expected a rate with its unit"),
        (["capcity=1Gbps"], '--set: capcity: unknown key; did you mean "capacity"?'),
        (["capacity=1Gbps", "beta=2"], "--set: beta: 2 is outside the accepted range; expected 0.0 to 1.0"),
        (["slow_start=false"], "--set slow_start: connections of the kernel always begin in slow start"),
    ],
)
def test_wrong_settings_are_named(given, message):
    with pytest.raises(FarloopError) as raised:
        settings.parameters(given)
    assert str(raised.value).startswith(message)


HOST = {
    "/proc/sys/net/core/bpf_jit_enable": "1",
    "/proc/self/status": "Name:\tx\nCapEff:\t000001ffffffffff\n",
    "/proc/sys/net/ipv4/tcp_ecn": "2",
    "/proc/sys/net/ipv4/tcp_ecn_option": "",
    "/proc/sys/net/ipv4/tcp_congestion_control": "cubic",
    "/proc/self/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\nbpf /sys/fs/bpf bpf rw 0 0\n",
}


@pytest.fixture
def able(monkeypatch, tmp_path):
    """A host that has everything, as far as files say; the files, which a test may change."""
    files = dict(HOST)
    monkeypatch.setattr(doctor, "_read", lambda path: files[path])
    monkeypatch.setattr(doctor.platform, "system", lambda: "Linux")
    monkeypatch.setattr(doctor.platform, "release", lambda: "6.10.0-1")
    monkeypatch.setattr(doctor, "BTF", tmp_path)
    monkeypatch.setattr(doctor, "OBJECTS", tmp_path)
    monkeypatch.setattr(doctor, "_libbpf", lambda: doctor.Check("libbpf", "load", True, "version 1.1"))
    monkeypatch.setattr(doctor.host_trials, "refusal_of_iterators", lambda _code: None)
    monkeypatch.setattr(doctor.host_trials, "missing_qdiscs", list)
    for name in (*doctor.PROGRAMS, "flows", *doctor.TELEMETRY, doctor.SWITCH, doctor.ROLLOUT):
        (tmp_path / f"{name}.bpf.o").touch()
    return files


def test_a_host_that_has_everything_lacks_nothing(able):
    assert doctor.missing_requirements() == []
    done = run("doctor", "--json")
    assert done.exit_code == 0
    assert {check["what"] for check in json.loads(done.stdout)} >= {"kernel", "BTF", "capabilities", "clang", "iperf3"}
    assert "net.ipv4.tcp_ecn = 2" in run("doctor").stdout


@pytest.mark.parametrize(
    ("release", "option", "ecn", "ok", "sentence"),
    [
        ("6.12.1", "", "1", False, "this kernel has none; programs see echoes"),
        ("6.18.44-fc", "2", "2", False, "refuses net.ipv4.tcp_ecn = 3 before Linux 7.0; programs see echoes"),
        ("7.0.0", "2", "2", False, "off; sysctl net.ipv4.tcp_ecn=3 switches it on; until then programs see echoes"),
        (
            "7.1.3",
            "2",
            "3",
            True,
            "programs see the packets that were marked, one by one; otherwise programs see echoes",
        ),
        ("7.1.3", "2", "5", True, "on, where both ends have it"),
        ("unknown", "2", "3", False, "refuses net.ipv4.tcp_ecn = 3"),
    ],
)
def test_the_doctor_says_how_marks_come_back(able, monkeypatch, release, option, ecn, ok, sentence):
    monkeypatch.setattr(doctor.platform, "release", lambda: release)
    able["/proc/sys/net/ipv4/tcp_ecn_option"], able["/proc/sys/net/ipv4/tcp_ecn"] = option, ecn
    (check,) = [check for check in doctor.checks() if check.what == "Accurate ECN"]
    assert (check.need, check.ok) == ("note", ok)
    assert sentence in check.found


def test_the_doctor_names_what_keeps_rollouts_from_running(able, monkeypatch):
    def rows():
        return {check.what: check for check in doctor.checks()}

    for what in ("cgroup v2", "bpffs", "iterators", "queueing disciplines"):
        assert rows()[what].ok, what
    able["/proc/self/mounts"] = "cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n"
    refused = "the kernel refuses them (bpf_prog_load): Operation not permitted"
    monkeypatch.setattr(doctor.host_trials, "refusal_of_iterators", lambda _code: refused)
    monkeypatch.setattr(doctor.host_trials, "missing_qdiscs", lambda: ["fq", "netem"])
    assert rows()["cgroup v2"].found.startswith("only cgroup v1 is mounted; mkdir -p ")
    assert "mount -t bpf bpf /sys/fs/bpf" in rows()["bpffs"].found
    assert rows()["iterators"].found.startswith(f"{refused}; without them `status` and `record` list no connections")
    assert rows()["queueing disciplines"].found == (
        "no fq: TCP paces by itself; no netem: `farloop testbed` has a link emulator of its own"
    )
    monkeypatch.setattr(doctor.host_trials, "missing_qdiscs", lambda: None)
    assert rows()["queueing disciplines"].found.startswith("not tried")
    able["/proc/self/mounts"] = ""
    assert rows()["cgroup v2"].found.startswith("not mounted; mkdir -p ")


def test_programs_that_are_not_compiled_are_one_line_with_a_command_to_copy(able, monkeypatch, tmp_path):
    for file in tmp_path.glob("*.bpf.o"):
        file.unlink()
    monkeypatch.setattr(doctor, "_clang", lambda: doctor.Check("clang", "build", False, "missing"))
    monkeypatch.setattr(doctor, "_headers", lambda: doctor.Check("libbpf headers", "build", False, "missing"))
    lacking = [check for check in doctor.checks() if "not compiled" in check.found]
    (line,) = lacking
    assert "gemini, cubic, dctcp, vegas, flows, gear, options, rows, switch, rollout" in line.found
    assert "`sudo apt-get install -y clang libbpf-dev && make kernel`" in line.found
    assert run("doctor").exit_code == 2
    (able_to_build,) = [doctor.Check("clang", "build", True, "")]
    monkeypatch.setattr(doctor, "_clang", lambda: able_to_build)
    monkeypatch.setattr(doctor, "_headers", lambda: able_to_build)
    assert doctor.build_line() == "make kernel"


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("release", "kernel: Linux 6.9.12; 6.10 or later is needed"),
        ("system", "kernel: Darwin; Linux 6.10 or later is needed"),
        ("btf", "is missing; get a kernel built with CONFIG_DEBUG_INFO_BTF=y"),
        ("jit", "BPF JIT: off; sysctl net.core.bpf_jit_enable=1 switches it on"),
        ("rights", "capabilities: CAP_PERFMON, CAP_BPF missing; run it as root"),
        ("object", "program flows: not compiled; `"),
    ],
)
def test_what_is_missing_is_said_in_one_line(able, monkeypatch, tmp_path, what, message):
    if what == "release":
        monkeypatch.setattr(doctor.platform, "release", lambda: "6.9.12")
    elif what == "system":
        monkeypatch.setattr(doctor.platform, "system", lambda: "Darwin")
    elif what == "btf":
        monkeypatch.setattr(doctor, "BTF", tmp_path / "none")
    elif what == "jit":
        able["/proc/sys/net/core/bpf_jit_enable"] = "0"
    elif what == "rights":
        able["/proc/self/status"] = "CapEff:\t0000000000001000\n"
    else:
        (tmp_path / "flows.bpf.o").unlink()
    assert len(doctor.missing_requirements()) == 1
    assert run("doctor").exit_code == 2
    for words in (["load", "gemini", "--set", "capacity=1Gbps"], ["status", "gemini"]):
        done = run(*words)
        assert (done.exit_code, done.stdout) == (2, "")
        assert message in done.stderr
        assert done.stderr.startswith("farloop: gemini") and done.stderr.count("\n") == 1
    assert (run("unload", "gemini").exit_code == 2) and (what == "object" or message in run("unload", "gemini").stderr)


CORE = "cwnd ssthresh base_rtt srtt8 increase carry acked marked rtt_min alpha f alpha_end rtt_end reduced_until flags"
CORE += " mss state doubt late late_marked packets"
FLOW = "number acks unsampled marked_acks ecn_cuts delay_cuts fast_retransmits timeouts undone idle_restarts moved ce_state prior_rcv_nxt"
FLOW += " events padding"


def row(*, private=None, stored=None, state=0, cwnd=0, ssthresh=0, mss=1448, srtt=0, **changed):
    """One connection as the kernel writes it: GEMINI's, or one with these bytes of its own."""
    own = {key: changed.pop(key) for key in list(changed) if key in CORE.split() + FLOW.split()}
    ends = {"source": bytes([10, 0, 0, 1]) + bytes(12), "destination": bytes(15) + b"\1", "namespace": 0}
    ends |= {"source_port": 0, "destination_port": 0, "family": 4} | changed
    if private is None:
        own |= {"mss": mss, "cwnd": cwnd, "ssthresh": ssthresh}
        private = gemini._PRIVATE.pack(*(own.get(key, 0) for key in CORE.split()))
        stored = gemini._FLOW.pack(*(own.get(key, 0) for key in FLOW.split()))
        cwnd = ssthresh = 0
    return programs.ROW.pack(private, stored, cwnd, ssthresh, mss, srtt, state, *ends.values(), 0)


def test_rows_of_the_kernel_become_connections():
    first_row = row(
        cwnd=10 * 1448 << 10,
        ssthresh=2**64 - 1,
        base_rtt=10_000_000,
        srtt8=96_000_000,
        alpha=1 << 29,
        f=1 << 28,
        state=3,
        acks=1 << 16,
        late=7,
        unsampled=1,
        ecn_cuts=5,
        delay_cuts=4,
        moved=3,
        source_port=40_000,
        destination_port=5201,
    )
    mapped = bytes(10) + b"\xff\xff" + bytes([10, 0, 0, 1])
    second_row = row(family=6, source=mapped, destination=bytes(15) + b"\1", ssthresh=1448 << 10, flags=32, namespace=1)
    first, second = gemini.connections(first_row + second_row)
    assert (first["source"], first["destination"], first["state"]) == ("10.0.0.1:40000", "0.0.0.0:5201", "recovery")
    assert (first["cwnd"], first["ssthresh"], first["base_rtt_ms"], first["srtt_ms"]) == (10, None, 10, 12)
    assert (first["alpha"], first["f"]) == (0.5, 0.25)
    assert [first[k] for k in ("acks", "samples", "ecn_cuts", "delay_cuts", "moved")] == [65_543, 65_542, 5, 4, 3]
    assert (second["source"], second["destination"]) == ("10.0.0.1:0", "[::1]:0")
    assert (second["cwnd"], second["ssthresh"], second["base_rtt_ms"]) == (1, 1, None)


def test_no_bytes_of_the_kernel_end_in_anything_but_rows_or_an_error():
    rng = random.Random(1)
    size = programs.ROW.size
    assert size == 240
    lengths = [rng.randrange(4 * size) for _ in range(cases(300))]
    for length in [0, 1, size - 1, size, size + 1, *lengths, *[size] * cases(300)]:
        data = rng.randbytes(length)
        for program in PROGRAMS:
            if length % size:
                with pytest.raises(FarloopError, match="are no rows"):
                    program.connections(data)
            else:
                assert len(program.connections(data)) == length // size


def event(flow, index, kind, *numbers, mss=1448, alpha=3, cwnd=20 << 20, ssthresh=2**64 - 1, marked=0):
    """One event as the kernel writes it."""
    inputs = (*numbers, *[0] * (6 - len(numbers)))
    return recording._EVENT.pack(
        flow, index, alpha, cwnd, ssthresh, 8000, 14, mss, *inputs, recording.KINDS.index(kind), marked
    )


def test_events_of_the_kernel_become_lines_that_can_be_replayed():
    taken = recording.Recording(settings.constants(settings.parameters(["capacity=1Gbps"])))
    taken.take(event(7, 0, "start", 14_480, 0, 0, 99))
    taken.take(event(7, 1, "ack", 1448, 2896, 0, 1547, 4443, 5, marked=724))
    taken.take(event(3, 0, "start", 14_480, 20_000, 0, 5, ssthresh=1448 << 10))
    taken.take(event(7, 2, "undo", 1 << 20, 2**64 - 1))
    taken.take(event(7, 3, "host", 0, 0, 0, 10, 2**31 - 1))
    taken.take(event(7, 4, "timeout", 0, 2896, 0, 0, 4443))
    taken.take(event(7, 5, "idle", 30, 20, 14_480))
    taken.take(event(7, 6, "mss", 0, 0, 0, 536, mss=536))
    lines = [json.loads(line) for line in taken.lines()]
    assert lines[0] == {"format": "farloop gemini vectors", "version": 4}
    assert [(line["event"], line["packets"]) for line in lines[1:3]] == [("start", 14)] * 2
    assert (lines[1]["flow"], lines[1]["base_rtt"], lines[1]["seq"]) == ("connection 3", 20_000, 5)
    assert (lines[1]["ssthresh_q10"], lines[2]["ssthresh_q10"], lines[2]["base_rtt"]) == (1448 << 10, None, None)
    assert {**lines[2], "mss": 0}.keys() == recorded("testbed, across").keys()
    ack = {key: lines[3][key] for key in ("acked", "ack_seq", "snd_nxt", "in_flight", "rtt", "marked")}
    expected = {"acked": 1448, "ack_seq": 1547, "snd_nxt": 4443, "in_flight": 2896, "rtt": None, "marked": 724}
    assert ack == expected
    assert [lines[3][key] for key in ("ecn_echo", "in_recovery", "app_limited")] == [True, False, True]
    assert (lines[4]["prior_cwnd"], lines[4]["prior_ssthresh"]) == (1 << 20, None)
    assert (lines[5]["host_packets"], lines[5]["host_ssthresh"]) == (10, None)
    assert (lines[6]["event"], lines[6]["in_flight"], lines[6]["snd_nxt"]) == ("timeout", 2896, 4443)
    assert [lines[7][key] for key in ("idle", "rto", "restart")] == [30, 20, 14_480]
    assert lines[8]["mss"] == 536
    assert (taken.connections, taken.events, taken.lost) == (2, 8, set())


def test_a_connection_ends_where_events_are_lost():
    recorded = recording.Recording(settings.constants(settings.parameters(["capacity=1Gbps"])))
    recorded.take(event(0, 0, "start"))
    recorded.take(event(0, 2, "ack"))
    recorded.take(event(0, 3, "ack"))
    recorded.take(event(1, 4, "ack"))
    assert (recorded.events, recorded.lost) == (1, {0, 1})
    assert len(recorded.lines()) == 2


def test_no_event_of_the_kernel_ends_in_anything_but_a_line_or_an_error():
    rng = random.Random(2)
    recorded = recording.Recording(settings.constants(settings.parameters(["capacity=1Gbps"])))
    for length in [*range(100), *[96] * cases(1000)]:
        try:
            recorded.take(rng.randbytes(length))
        except FarloopError as error:
            assert "which is no event" in str(error)
    for kind in range(12):
        for flow in range(50):
            data = bytearray(rng.randbytes(96))
            data[:12] = flow.to_bytes(8, "little") + kind.to_bytes(4, "little")
            data[84:88] = kind.to_bytes(4, "little")
            if kind < 8:
                recorded.take(bytes(data))
    assert all(json.loads(line) for line in recorded.lines())


def test_status_is_a_table_and_json(able, monkeypatch):
    rows = gemini.connections(row(acks=12_345, family=4, srtt8=8_000_000, base_rtt=500_000))
    monkeypatch.setattr(programs.Program, "status", lambda _: {"loaded": True, "connections": rows})
    shown = run("status", "gemini")
    assert shown.exit_code == 0
    assert "gemini is loaded" in shown.stdout and "12345" in shown.stdout and "500 µs" in shown.stdout
    status = json.loads(run("status", "gemini", "--json").stdout)
    assert (status["algorithm"], status["connections"]) == ("gemini", rows)


def test_connections_of_the_baselines_become_rows_of_a_table(able, monkeypatch):
    counts = struct.pack("=4I56x", 5, 4, 3, 2)
    numbers = {"cwnd": 12, "ssthresh": 2**31 - 1, "srtt": 1500, "state": 3, "stored": counts}
    cubic = row(private=struct.pack("=13Q", 0, 20 << 24, *[0] * 10, 7 << 32), **numbers)
    dctcp = row(private=struct.pack("=Q8I64x", 0, 1 << 28, 0, 0, 0, 0, 0, 8, 0), **numbers)
    vegas = row(private=struct.pack("=8I72x", 250, 0, 0, 0, 0, 0, 0, 9), **numbers)
    counted = {"reductions": 5, "fast_retransmits": 4, "timeouts": 3, "undone": 2}
    for name, data, own in [
        ("cubic", cubic, {"w_max": 20, "acks": 7}),
        ("dctcp", dctcp, {"alpha": 0.25, "acks": 8}),
        ("vegas", vegas, {"base_rtt_ms": 0.25, "acks": 9}),
    ]:
        program = next(p for p in PROGRAMS if p.name == name)
        (connection,) = rows = program.connections(data)
        common = {"cwnd": 12, "ssthresh": None, "srtt_ms": 1.5, "state": "recovery", "mss": 1448}
        assert connection.items() >= {**common, **counted, **own}.items()
        monkeypatch.setattr(programs.Program, "status", lambda _, rows=rows: {"loaded": False, "connections": rows})
        shown = run("status", name).stdout
        assert f"{name} is not loaded" in shown and "1.5 ms" in shown and "recovery" in shown
    assert program.connections(row(private=bytes([255] * 4 + [0] * 100), **numbers))[0]["base_rtt_ms"] is None


@pytest.mark.parametrize(
    ("program", "given", "layout", "numbers"),
    [
        (baselines.CUBIC, [], "=3Q4I", (419430, 45875, round(0.9 / 1.7 * 2**24), 1, 1, 1, 0)),
        (
            baselines.CUBIC,
            ["growth_before_loss=0.25"],
            "=3Q4I",
            (419430, 45875, round(0.9 / 1.7 * 2**24), 1, 1, 1, 1 << 22),
        ),
        (baselines.CUBIC, ["c=0.001", "beta=0.5", "alpha_one=false"], "=3Q4I", (1049, 1 << 15, 1 << 24, 1, 1, 0, 0)),
        (baselines.DCTCP, [], "=3Q2I", (1 << 26, 1 << 30, 1 << 16, 1, 0)),
        (
            baselines.DCTCP,
            ["g=0.5", "loss_cut=alpha", "increase=1e5"],
            "=3Q2I",
            (1 << 29, 1 << 30, 100_000 << 16, 0, 0),
        ),
        (baselines.VEGAS, [], "=3Q2I", (2048, 4096, 1024, 3 << 14, 2)),
        (baselines.VEGAS, ["scale=10", "beta=1", "loss_factor=1"], "=3Q2I", (20480, 20480, 1024, 1 << 16, 2)),
    ],
)
def test_settings_of_the_baselines_are_packed_as_their_programs_read_them(program, given, layout, numbers):
    assert struct.unpack(layout, program.packed(program.parameters(given))) == numbers


@pytest.mark.parametrize(
    ("program", "given", "message"),
    [
        (baselines.CUBIC, "ecn=true", "--set ecn: marks are answered where both ends"),
        (baselines.CUBIC, "hystart=rfc9406", "--set hystart: this program ends slow start at a loss or a mark"),
        (baselines.CUBIC, "beta=2", "--set: beta: 2 is outside the accepted range; expected 0.1 to 0.99"),
        (baselines.DCTCP, "pacing=true", "--set pacing: sch_fq paces"),
        (baselines.VEGAS, "linux=true", "--set linux: this program has Vegas of the papers"),
        (baselines.VEGAS, "gama=3", '--set: gama: unknown key; did you mean "gamma"?'),
    ],
)
def test_settings_that_the_baselines_do_not_have_are_refused(program, given, message):
    with pytest.raises(FarloopError) as raised:
        program.parameters([given])
    assert str(raised.value).startswith(message)


def test_only_geminis_arithmetic_is_recorded(tmp_path):
    done = run("record", "cubic", str(tmp_path / "x.jsonl"))
    assert (done.exit_code, done.stderr) == (
        2,
        "farloop: cubic cannot be recorded: vectors are of gemini's arithmetic\n",
    )


@pytest.mark.parametrize(
    "program",
    [
        "gemini/gemini",
        "cubic/cubic",
        "dctcp/dctcp",
        "vegas/vegas",
        "flows",
        "gear/gear",
        "gear/options",
        "gear/rows",
        "testbed/telemetry",
    ],
)
def test_the_programs_compile_without_kernel_headers(program, tmp_path):
    if shutil.which("clang") is None or not Path("/usr/include/bpf/bpf_helpers.h").exists():
        pytest.skip("no clang, or no headers of libbpf")
    warnings = [
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-parameter",
        "-DTHRESHOLD=30000",
        "-DRATE_MBPS=200",
        "-DHOP=1",
    ]
    source = ROOT / "linux" / f"{program}.bpf.c"
    words = ["clang", "-target", "bpf", "-mcpu=v3", "-O2", "-g", *warnings, "-c", source, "-o", tmp_path / "x.o"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_second_unload_says_that_nothing_is_loaded(monkeypatch, tmp_path):
    """The map is there as long as a connection holds it, though no connection can ask for the algorithm any more."""
    available, default, taken = tmp_path / "available", tmp_path / "default", []
    available.write_text("reno cubic gemini\n")
    default.write_text("cubic\n")
    held = SimpleNamespace(id=7, kind=programs.libbpf.STRUCT_OPS, name="gemini")
    monkeypatch.setattr(programs, "_AVAILABLE", available)
    monkeypatch.setattr(programs, "_DEFAULT", default)
    monkeypatch.setattr(programs, "missing_requirements", lambda *_, **__: [])
    monkeypatch.setattr(programs.libbpf, "maps", lambda: [held])
    monkeypatch.setattr(programs.libbpf, "unregister", taken.append)
    assert run("unload", "gemini").stdout == "gemini is unloaded\n"
    available.write_text("reno cubic\n")
    again = run("unload", "gemini")
    assert again.exit_code == 2
    assert "gemini is not loaded; connections that use it keep it until they end" in again.stderr
    monkeypatch.setattr(programs.libbpf, "maps", list)
    assert run("unload", "gemini").stderr == "farloop: gemini is not loaded\n"
    assert taken == [7]
