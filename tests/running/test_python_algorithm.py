"""Algorithms in Python: the same flows as in Rust, parameters, needs, errors that name the user's line."""

import contextlib
import os
import signal
import textwrap
import threading
import time
from pathlib import Path

import pytest

import farloop
from farloop import algorithm
from farloop.algorithm import Algorithm, AlgorithmError, parameter
from farloop.commands.app import run as run_command
from farloop.experiments import crew

EXAMPLE = Path(__file__).parents[2] / "examples" / "python-algorithm"
SCENARIO = EXAMPLE / "scenario.toml"

HALVER = """\
from farloop.algorithm import Algorithm, parameter


class Halver(Algorithm):
    '''Half the window for each round trip with a mark.'''

    needs = {"ecn", "accurate_ecn"}
    keep = parameter(0.5, "What a mark leaves of the window.", low=0.0, high=1.0)

    def start(self, flow):
        self.mss, self.cwnd, self.cut_until = flow.mss, flow.initial_cwnd or flow.bdp, 0

    def on_ack(self, ctx, ack):
        if not ack.ecn_echo:
            self.cwnd += self.mss * ack.acked / self.cwnd
        elif ack.ack_seq > self.cut_until:
            self.cwnd, self.cut_until = max(self.mss, self.keep * self.cwnd), ack.snd_nxt
"""


def without_name(table):
    return table.drop_columns(["algorithm"])


@pytest.fixture
def halver(tmp_path):
    path = tmp_path / "halver.py"
    path.write_text(HALVER)
    return path


def changed(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


@pytest.mark.parametrize("threads", [1, 2])
def test_hpcc_in_python_is_hpcc(threads):
    (hpcc,) = algorithm.load(EXAMPLE / "hpcc.py")
    own = farloop.run(SCENARIO, algorithm="hpcc", threads=threads)
    python = farloop.run(SCENARIO, algorithm=hpcc, threads=threads)
    assert own.flows.num_rows > 10
    assert without_name(own.flows).equals(without_name(python.flows))
    assert own.ports.equals(python.ports)
    assert own.info["totals"]["packet_hops"] == python.info["totals"]["packet_hops"]


def test_a_class_stands_beside_names(halver):
    (cls,) = algorithm.load(halver)
    compared = farloop.compare(SCENARIO, ["dctcp", cls], set={"run.duration": "1ms"})
    assert [run.algorithm for run in compared.runs] == ["dctcp", "halver"]
    assert compared.runs[1].info["classes"] == {"halver": algorithm.digest(cls)}
    with pytest.raises(farloop.FarloopError, match="compared with itself: halver"):
        farloop.compare(SCENARIO, ["halver", cls])


def test_parameters_come_from_the_scenario(halver):
    (cls,) = algorithm.load(halver)
    changed(
        halver,
        "keep = parameter(0.5,",
        'pace = parameter("10Gbps", "Its rate.", low="1Gbps")\n'
        '    way = parameter("up", "Whereto.", choices=["up", "down"])\n    keep = parameter(0.5,',
    )
    changed(
        halver,
        "self.mss, self.cwnd",
        "self.pacing_rate = self.pace\n        assert self.way == 'down'\n        self.mss, self.cwnd",
    )
    (cls,) = algorithm.load(halver)
    at = {"run.duration": "1ms", "algorithm.halver.pace": "2Gbps", "algorithm.halver.way": "down"}
    slow = farloop.run(SCENARIO, algorithm=cls, set=at)
    assert slow.scenario["algorithm"]["halver"] == {"pace": "2Gbps", "way": "down", "keep": 0.5}
    assert slow.summary["mean_throughput"]["intra"] < 2e9
    for key, value, message in (
        ("pace", "1Mbps", 'algorithm.halver.pace: "1Mbps" is outside the accepted range; expected 1Gbps and more'),
        ("pace", "fast", "algorithm.halver.pace"),
        ("way", "left", 'algorithm.halver.way: "left" is not accepted; expected one of "up", "down"'),
        ("keep", "2", "algorithm.halver.keep: 2 is outside the accepted range; expected 0.0 to 1.0"),
        ("kept", "1", "algorithm.halver.kept: unknown key; accepted keys: pace, way, keep"),
    ):
        with pytest.raises(farloop.ScenarioError) as caught:
            farloop.run(SCENARIO, algorithm=cls, set={f"algorithm.halver.{key}": value})
        assert message in str(caught.value)


def test_needs_are_asked_of_the_network(halver):
    (cls,) = algorithm.load(changed(halver, 'needs = {"ecn", "accurate_ecn"}', 'needs = {"delivery_rate"}'))
    with pytest.raises(farloop.ScenarioError, match="halver"):
        farloop.run(SCENARIO, algorithm=cls)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (
            "self.mss * ack.acked",
            "self.mess * ack.acked",
            15,
            "AttributeError: 'Halver' object has no attribute 'mess'",
        ),
        (
            "self.mss * ack.acked",
            "float('nan') * ack.acked",
            13,
            "Halver.cwnd is nan after on_ack; expected bytes of payload from 0",
        ),
        ("self.mss * ack.acked / self.cwnd", "-1e9", 13, "Halver.cwnd is -"),
        ("flow.bdp, 0", "'wide', 0", 10, "Halver.cwnd is 'wide' after start"),
        ("flow.mss", "flow.mms", 11, "AttributeError"),
        ("def start(self, flow)", "def start(self)", 0, "TypeError"),
    ],
)
def test_an_error_names_the_users_line(halver, tmp_path, capfd, old, new, line, message):
    changed(halver, old, new)
    (cls,) = algorithm.load(halver)
    with pytest.raises(AlgorithmError) as caught:
        farloop.run(SCENARIO, algorithm=cls)
    assert message in str(caught.value)
    if line:
        assert f"halver.py:{line}: " in str(caught.value)
    out = tmp_path / "out"
    argv = ["run", str(SCENARIO), "--algorithm", "halver", "--algorithm-file", str(halver), "--out", str(out), "-q"]
    assert farloop_command(argv) == 2
    shown = capfd.readouterr().err
    assert message in shown
    assert "Traceback" not in shown
    assert not out.exists()


def farloop_command(argv):
    import sys

    before = sys.argv
    sys.argv = ["farloop", *argv]
    try:
        return run_command()
    finally:
        sys.argv = before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "defines no algorithm; expected a class derived from"),
        ("def f(:\n", ".py:1: invalid syntax"),
        ("import nothing_of_that_name\n", ".py:1: ModuleNotFoundError"),
        (HALVER.replace("on_ack", "on_ak"), "Halver: has no on_ack"),
        (HALVER + "    def on_los(self, ctx, loss): ...\n", "on_los is no handler; did you mean on_loss?"),
        (HALVER.replace('"ecn", ', '"enc", '), "needs 'enc'; did you mean ecn?"),
        (HALVER.replace("parameter(0.5,", "parameter(1.5,"), "the default 1.5 is outside 0.0 to 1.0"),
        (HALVER.replace("    keep", "    name = 'dctcp'\n    keep"), "dctcp"),
        (HALVER.replace("    keep", "    header_bytes = -1\n    keep"), "header_bytes is -1"),
        (HALVER.replace("    keep", "    name = 5\n    keep"), "name is 5; expected a text in quotes"),
        (HALVER.replace("    keep", "    source = 5\n    keep"), "source is 5; expected a text in quotes"),
        (HALVER.replace("    keep", "    random = 'no'\n    keep"), "random is 'no'; expected True or False"),
        (HALVER.replace('{"ecn", "accurate_ecn"}', "5"), "needs is 5; expected a set of texts; there is ecn, int"),
        (HALVER.replace('{"ecn", "accurate_ecn"}', "{5}"), "needs 5; there is ecn"),
        (HALVER + "\n    on_ack = 5\n", "on_ack is 5; expected a method, on_ack(self, ctx, ack)"),
        (HALVER + "\n    on_loss = None\n", "on_loss is None; expected a method, on_loss(self, ctx, loss)"),
        (
            HALVER.replace("parameter(0.5,", "parameter([0.5],"),
            "parameter keep: the default is [0.5]; expected a number, a text",
        ),
        (
            HALVER.replace('"What a mark leaves of the window."', "5"),
            "parameter keep: the description is 5; expected a text in quotes",
        ),
        # What would end the process, or one of Python's own constructs, and not say a word.
        ("import sys\nsys.exit(0)\n", ".py:2: SystemExit: 0"),
        ("raise GeneratorExit\n", ".py:1: GeneratorExit"),
        ("class Own(BaseException): ...\nraise Own('x')\n", ".py:2: Own: x"),
        (
            HALVER
            + "\n\nclass Needs:\n    def __iter__(self):\n        raise SystemExit(0)\n\n\nHalver.needs = Needs()\n",
            "SystemExit: 0",
        ),
        # Two of one name: one of them would run.
        (HALVER + "\n\n" + HALVER, ".py:23: Halver: is defined twice, first in line 4; expected another name"),
        (HALVER + "\n\nclass HALVER(Halver): ...\n", 'has the name "halver", as Halver has ('),
    ],
)
def test_what_is_no_algorithm_is_refused(tmp_path, text, message):
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(AlgorithmError) as caught:
        algorithm.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_two_files_of_one_name_are_refused(halver, tmp_path, capfd):
    other = tmp_path / "other.py"
    other.write_text(HALVER)
    argv = [
        "run",
        str(SCENARIO),
        "--algorithm-file",
        str(halver),
        "--algorithm-file",
        str(other),
        "--algorithm",
        "halver",
    ]
    assert farloop_command([*argv, "--out", str(tmp_path / "out")]) == 2
    shown = capfd.readouterr().err
    assert f'{other}:4: Halver: has the name "halver", as Halver has ({halver}:4); expected another `name`' in shown
    # One file twice is one file; a class that is defined anew counts instead of the older one.
    (first,), (again,) = algorithm.load(halver), algorithm.load(halver)
    assert farloop.Scenario.load(SCENARIO).with_classes([first]).with_classes([again]).classes == (again,)


ENDS = {
    "sys.exit(0)": "__import__('sys').exit(0)",
    "GeneratorExit": "(_ for _ in ()).throw(GeneratorExit)",
    "BaseException": "(_ for _ in ()).throw(BaseException('own'))",
}


@pytest.mark.parametrize("where", ["start", "on_ack", "__init__"])
@pytest.mark.parametrize("what", ENDS)
def test_what_ends_a_process_is_an_error_of_its_line(where, what, halver, command):
    if where == "__init__":
        changed(halver, "    def start(self", f"    def __init__(self):\n        {ENDS[what]}\n\n    def start(self")
        line = 11
    else:
        signature = {"start": "def start(self, flow):", "on_ack": "def on_ack(self, ctx, ack):"}[where]
        changed(halver, signature, f"{signature}\n        {ENDS[what]}")
        line = 11 if where == "start" else 14
    argv = ["run", str(SCENARIO), "--algorithm", "halver", "--algorithm-file", str(halver), "--out", "out", "-q"]
    done = command(*argv)
    assert done.returncode == 2, done.stderr
    assert (
        f"halver.py:{line}: {what.replace('sys.exit(0)', 'SystemExit: 0').replace('BaseException', 'BaseException: own')}"
        in done.stderr
    )
    assert "Traceback" not in done.stderr
    assert not (command.directory / "out").exists()


def test_an_algorithm_that_takes_standard_output_hides_no_failure(halver, command):
    halver.write_text("import io, sys\nsys.stdout = io.StringIO()\n" + HALVER.replace("flow.mss", "flow.mms"))
    done = command("run", str(SCENARIO), "--algorithm", "halver", "--algorithm-file", str(halver), "--out", "out")
    assert done.returncode == 2, done.stderr
    assert "AttributeError" in done.stderr


@pytest.mark.parametrize("where", ["load", "handler"])
def test_what_users_raise_is_shown_on_one_line_of_bearable_length(where, halver, command):
    text = "'\\x1b[2J\\x07' + 'x' * 1_000_000"
    if where == "load":
        halver.write_text(f"raise ValueError({text})\n")
    else:
        changed(halver, "def start(self, flow):", f"def start(self, flow):\n        raise ValueError({text})")
    done = command("run", str(SCENARIO), "--algorithm", "halver", "--algorithm-file", str(halver), "--out", "out", "-q")
    assert done.returncode == 2
    assert "ValueError: \\x1b[2J\\x07xxx" in done.stderr
    assert "\x1b" not in done.stderr
    assert len(done.stderr) < 1000


def test_an_exception_whose_text_cannot_be_had_is_told_by_its_name(halver):
    halver.write_text("class Own(Exception):\n    def __str__(self):\n        raise KeyError\n\n\nraise Own\n")
    with pytest.raises(AlgorithmError, match=r"halver\.py:6: Own$"):
        algorithm.load(halver)


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("what", ["while True: pass", "time.sleep(1000)"])
def test_a_handler_that_never_returns_does_not_outlive_an_interrupt(what, threads, halver, command):
    began = command.directory / "began"
    changed(halver, "from farloop", "import time\n\nfrom farloop")
    changed(halver, "ctx, ack):", f"ctx, ack):\n        open({str(began)!r}, 'w').close()\n        {what}")
    argv = ["run", str(SCENARIO), "--algorithm", "halver", "--algorithm-file", str(halver), "--out", "out"]
    process = command.start(*argv, "--threads", threads)
    try:
        until = time.monotonic() + 60
        while not began.exists():
            assert time.monotonic() < until
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        interrupted = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    # One second, and what a busy machine adds.
    assert time.monotonic() - interrupted < 5
    assert "farloop: interrupted; nothing was written" in err
    assert sorted(path.name for path in command.directory.iterdir()) == ["began", "halver.py"]


def test_an_interrupt_from_python_ends_a_handler_that_never_returns():
    began = threading.Event()

    class Endless(Algorithm):
        def start(self, flow):
            self.cwnd = flow.mss

        def on_ack(self, ctx, ack):
            began.set()
            while True:
                with contextlib.suppress(Exception):
                    time.sleep(0.001)

    threading.Thread(target=lambda: (began.wait(), os.kill(os.getpid(), signal.SIGINT))).start()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            farloop.run(SCENARIO, algorithm=Endless, threads=1)
    finally:
        signal.signal(signal.SIGINT, before)
    until = time.monotonic() + 10
    while crew.has_stray_thread() and time.monotonic() < until:
        time.sleep(0.05)
    assert not crew.has_stray_thread()


@pytest.mark.sampled
@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_timer_that_is_always_due_is_an_error_that_names_the_class(after, threads, halver):
    changed(halver, "    def on_ack", f"    def on_start(self, ctx):\n        ctx.arm(0, {after})\n\n    def on_ack")
    halver.write_text(halver.read_text() + f"\n    def on_timer(self, ctx, number):\n        ctx.arm(0, {after})\n")
    (cls,) = algorithm.load(halver)
    with pytest.raises(AlgorithmError) as caught:
        farloop.run(SCENARIO, algorithm=cls, threads=threads)
    assert "halver.py:22: Halver.on_timer was called 100000 times for one flow from 0." in str(caught.value)
    assert "simulated time stands still; expected timers that are armed for later" in str(caught.value)


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(AlgorithmError, match="no such file"):
        algorithm.load(tmp_path / "none.py")
    (tmp_path / "a.txt").write_text(HALVER)
    with pytest.raises(AlgorithmError, match=r"ends in \.py"):
        algorithm.load(tmp_path / "a.txt")
    with pytest.raises(AlgorithmError, match="expected a class derived from"):
        farloop.run(SCENARIO, algorithm=dict)


@pytest.mark.parametrize(
    "words", [["explain", "a.py"], ["run", str(SCENARIO), "--algorithm-file", "a.py", "--out", "o"]]
)
@pytest.mark.parametrize("what", ["raise KeyboardInterrupt", "os.kill(os.getpid(), signal.SIGINT); time.sleep(60)"])
def test_an_interrupt_while_a_file_is_loaded_is_a_line(words, what, command):
    (command.directory / "a.py").write_text(f"import os, signal, time\n{what}\n")
    done = command(*words)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "farloop: interrupted; nothing was written\n"
    assert [path.name for path in command.directory.iterdir()] == ["a.py"]


def test_a_pipe_or_a_folder_is_no_file_of_python(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    for name in ("pipe.py", "."):
        with pytest.raises(AlgorithmError, match="is not a regular file; expected Python"):
            algorithm.load(tmp_path / name)


def test_a_finished_run_counts_only_for_the_same_class(halver, tmp_path, capfd):
    def runs():
        argv = [
            "compare",
            str(SCENARIO),
            "--algorithms",
            "halver",
            "--algorithm-file",
            str(halver),
            "--out",
            str(tmp_path / "out"),
        ]
        assert farloop_command([*argv, "--set", "run.duration=200us"]) == 0
        (run,) = farloop.load(tmp_path / "out").runs
        return run.info["classes"]

    first = runs()
    capfd.readouterr()
    assert runs() == first
    assert "kept" in capfd.readouterr().err
    changed(halver, "self.keep * self.cwnd", "self.keep * self.cwnd / 2")
    assert runs() != first
    assert "kept" not in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir() if path.name != "out"] == ["halver.py"]


def test_timers_randomness_and_losses_reach_the_class():
    seen = []

    class Ticker(Algorithm):
        """Changes its window by the clock."""

        random = True
        every = parameter("10us", "From one change to the next.")

        def start(self, flow):
            self.cwnd = 2 * flow.mss

        def on_start(self, ctx):
            ctx.arm(1, self.every)

        def on_timer(self, ctx, number):
            seen.append((ctx.now_ps, number, ctx.random()))
            ctx.arm(1, self.every)

        def on_ack(self, ctx, ack):
            assert ack.rtt_ps is None or ack.rtt_ps > 0

        def on_loss(self, ctx, loss):
            assert loss.kind in ("fast-retransmit", "timeout", "spurious")

    farloop.run(SCENARIO, algorithm=Ticker, set={"run.duration": "300us"})
    first, seen[:] = list(seen), []
    farloop.run(SCENARIO, algorithm=Ticker, set={"run.duration": "300us"})
    assert first == seen
    assert len(first) > 10
    assert all(number == 1 and 0 <= drawn < 1 for _, number, drawn in first)
    withstood = algorithm.torture(Ticker, sequences=3)
    assert withstood == "ticker: 3 random sequences of 200 signals inside and across, and no unusable window or rate"

    class Bad(Ticker):
        def on_timer(self, ctx, number):
            ctx.arm(4, 1)

    with pytest.raises(AlgorithmError, match="timer 4: expected 0 to 3"):
        algorithm.torture(Bad, sequences=20)


def test_explain_says_what_a_file_defines(halver, capfd):
    assert farloop_command(["explain", str(halver)]) == 0
    shown = capfd.readouterr().out
    for words in (
        "halver",
        "Half the window for each round trip with a mark.",
        "keep",
        "What a mark leaves of the window.",
        "0.0 to 1.0",
    ):
        assert words in shown
    assert farloop_command(["explain", str(halver), "--page"]) == 2


def test_the_page_shows_what_there_is():
    page = (Path(__file__).parents[2] / "docs" / "python-algorithms.md").read_text()
    for handler in ("start", "on_ack", *algorithm.HANDLERS):
        assert f"| `{handler}(" in page
    for need in algorithm.NEEDS:
        assert f'`"{need}"`' in page
    block = page.split("```python")[1].split("```")[0]
    assert textwrap.dedent(HALVER).split("class Halver")[1].replace("'''", '"""') in block


COUNTER = """\
from farloop.algorithm import Algorithm


class Counter(Algorithm):
    '''A fixed window that checks what ACKs say of marks.'''

    needs = {"ecn", "accurate_ecn"}

    def start(self, flow):
        self.mss, self.cwnd, self.heard = flow.mss, 80 * flow.mss, 0

    def on_ack(self, ctx, ack):
        assert (ack.ce_packets is None) == COUNTS_NOT
        assert ack.ecn_echo == (ack.marked > 0)
        if ack.ce_packets is None:
            assert ack.marked == (ack.acked if ack.ecn_echo else 0)
        else:
            assert ack.marked == ack.ce_packets * self.mss
        self.heard += ack.marked // self.mss
        if self.heard > 100:
            self.cwnd = 2 * self.mss
"""


MARKS = """\
run.duration = "5ms"
network = { topology = "dumbbell", intra_pairs = 2, cross_pairs = 0, bottleneck_rate = "10Gbps" }
switch = { kmin = "20kB", kmax = "20kB" }
transport.kind = "tcp"
algorithm.name = "dctcp"
flow = [{ from = "s1", to = "d1" }, { from = "s2", to = "d2" }]
"""


@pytest.mark.parametrize("ecn", ["auto", "accecn"])
def test_acks_say_how_much_was_marked(tmp_path, ecn):
    (tmp_path / "counter.py").write_text(COUNTER.replace("COUNTS_NOT", str(ecn == "auto")))
    (tmp_path / "marks.toml").write_text(MARKS)
    (cls,) = algorithm.load(tmp_path / "counter.py")
    run = farloop.run(tmp_path / "marks.toml", algorithm=cls, set={"transport.ecn": ecn})
    # Each window falls once it has heard of a hundred marked packets.
    assert all(marked > 100 for marked in run.flows["marked"].to_pylist())
