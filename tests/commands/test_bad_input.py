"""Whatever is wrong with the input: exit code 2, and a message that a newcomer can act on."""

import os
import threading
import time

import pyarrow.parquet as pq
import pytest
from conftest import SMALL
from typer.testing import CliRunner

import farloop
from farloop.commands.app import app
from farloop.formats import inputs
from farloop.results import fields

EDITS = {
    # what: (text to replace, replacement, what the message must name)
    "wrong type": ("seed = 3", 'seed = "three"', ["run.seed"]),
    "unknown key": ('wan_delay = "1ms"', 'wan_dely = "1ms"', ["wan_dely", "wan_delay"]),
    "unknown section": ("[algorithm]", "[algoritm]", ["algoritm", "algorithm"]),
    "unit missing": ('duration = "20ms"', 'duration = "20"', ["run.duration", "20"]),
    "number instead of a quantity": ('duration = "20ms"', "duration = 20", ["run.duration"]),
    "wrong unit": ('link_delay = "5us"', 'link_delay = "5Gbps"', ["network.link_delay"]),
    "negative": ('link_delay = "5us"', 'link_delay = "-5us"', ["network.link_delay"]),
    "zero rate": ('rate = "1Gbps"', 'rate = "0Gbps"', ["network.rate"]),
    "zero duration": ('duration = "20ms"', 'duration = "0ms"', ["run.duration"]),
    "overflow": ('rate = "1Gbps"', 'rate = "99999999999999999999Gbps"', ["network.rate"]),
    "not a number": ('rate = "1Gbps"', 'rate = "nanGbps"', ["network.rate"]),
    "unknown node": ('from = "s1"', 'from = "s9"', ["s9", "s1"]),
    "a flow to a switch": ('to = "d1"', 'to = "right"', ["right", "host"]),
    "a flow to itself": ('to = "d1"', 'to = "s1"', ["flow.intra"]),
    "unknown topology": ('topology = "dumbbell"', 'topology = "dumbell"', ["dumbell", "dumbbell"]),
    "unknown algorithm": ('name = "hpcc"', 'name = "hpc"', ["hpc", "hpcc"]),
    "unknown parameter": ("[algorithm]\n", "[algorithm.hpcc]\nuta = 0.9\n[algorithm]\n", ["uta"]),
    "parameter out of range": ("[algorithm]\n", "[algorithm.hpcc]\neta = 95\n[algorithm]\n", ["eta", "95"]),
    "needs that the network lacks": ("[algorithm]\n", "[switch]\nint = false\n[algorithm]\n", ["hpcc"]),
    "two flows of one name": ('name = "cross-short"', 'name = "cross"', ["cross"]),
    "stops before it starts": ('size = "100kB"', 'stop = "2ms"', ["stop"]),
    "zero size": ('size = "100kB"', 'size = "0kB"', ["size"]),
    "thresholds the wrong way round": (
        "[algorithm]\n",
        '[switch]\nkmin = "9kB"\nkmax = "3kB"\n[algorithm]\n',
        ["kmin"],
    ),
    "no hosts": ("intra_pairs = 1\ncross_pairs = 1", "intra_pairs = 0\ncross_pairs = 0", ["intra_pairs"]),
    "unknown recorded port": ("[algorithm]\n", '[record]\nports = ["left->nowhere"]\n[algorithm]\n', ["left->nowhere"]),
    "MTU smaller than the header": (
        "[algorithm]\n",
        '[transport]\nmtu = "64B"\nheader = "80B"\n[algorithm]\n',
        ["header"],
    ),
    "key given twice": ("seed = 3", "seed = 3\nseed = 4", ["not valid TOML", "duplicate key; expected each key once"]),
    "not TOML": ("[run]", "[run", ["TOML"]),
}


def refused(done, *named):
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    assert done.stderr.startswith("farloop: ") or "Usage" in done.stderr
    for name in named:
        assert name in done.stderr, f"{name!r} is not in: {done.stderr}"


@pytest.mark.parametrize("what", EDITS)
def test_malformed_scenarios(what, command, small):
    old, new, named = EDITS[what]
    assert SMALL.count(old) >= 1
    small.write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    refused(command("run", str(small), "--out", "r"), "small.toml", *named)
    assert not (command.directory / "r").exists()


def test_no_flows(command, small):
    small.write_text(SMALL[: SMALL.index("[[flow]]")], encoding="utf-8")
    refused(command("run", str(small)), "flow")


def test_no_such_file(command):
    refused(command("run", "absent.toml"), "absent.toml", "no such file")
    refused(command("run", "gear/fig9"), "gear/fig9", "did you mean gear/fig09?")


def test_a_directory_instead_of_a_file(command):
    refused(command("run", "."), "directory")


def test_not_utf8(command, small):
    small.write_bytes(SMALL.encode() + b"\n# caf\xe9\n")
    refused(command("run", str(small)), f"small.toml:{SMALL.count(chr(10)) + 2}", "UTF-8")


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("nonsense", "key=value"),
        ("=1", "key=value"),
        ("run.duraton=1ms", "duration"),
        ("flow.intro.start=1ms", "intra"),
        ("run.duration=fast", "run.duration"),
        ("network.rate=1Gbit", "network.rate"),
    ],
)
def test_bad_settings(setting, named, command, small):
    refused(command("run", str(small), "--set", setting), named)


def test_unknown_algorithms(command, small):
    refused(command("run", str(small), "--algorithm", "gaer"), "gaer", "gear")
    refused(command("compare", str(small), "--algorithms", "hpcc,gaer"), "gaer", "gear")
    refused(command("compare", str(small), "--algorithms", ""), "no algorithm")
    refused(command("explain", "gaer"), "gaer", "did you mean gear?")


def test_unknown_words(command):
    refused(command("list", "algoritms"), "did you mean algorithms?")
    refused(command("reproduce", "gear/fig90"), "gear/fig90", "did you mean")
    refused(command("bench", "D9"), "D9", "D1")
    refused(command("run"))
    refused(command("simulate"))


def test_numbers_of_options(command, small):
    refused(command("run", str(small), "--seed", "-1"))
    refused(command("run", str(small), "--seed", "x"))
    for threads in ("0", "-1", "two", "1.5", "١", ""):
        refused(
            command("run", str(small), "--threads", threads), "--threads", "expected a whole number from 1 on, or auto"
        )
    refused(command("bench", "D1", "--threads", "none"), "--threads", "auto")
    refused(command("bench", "D1", "--threads", "9" * 30), "threads: 999", "from 1 to 1024")


def test_out_is_a_file(command, small):
    (command.directory / "taken").write_text("mine")
    refused(command("run", str(small), "--out", "taken"), "taken", "--out")
    refused(command("run", str(small), "--out", "taken/below"), "taken", "--out")
    assert (command.directory / "taken").read_text() == "mine"


def test_out_holds_something_else(command, small):
    (command.directory / "mine").mkdir()
    (command.directory / "mine" / "thesis.tex").write_text("mine")
    refused(command("run", str(small), "--out", "mine"), "did not write")
    assert [p.name for p in (command.directory / "mine").iterdir()] == ["thesis.tex"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unwritable to root")
def test_out_is_unwritable(command, small):
    locked = command.directory / "locked"
    locked.mkdir(mode=0o555)
    refused(command("run", str(small), "--out", "locked/r"), "locked/r", "cannot be written")


def test_out_where_no_directory_can_be(command, small):
    refused(command("run", str(small), "--out", "/proc/farloop/r"), "/proc/farloop/r", "cannot be written")


def test_report_of_something_else(command, small):
    refused(command("report", "absent"), "absent", "no such directory")
    refused(command("report", "."), "no farloop output")
    refused(command("report", str(small)), "is a file")
    (command.directory / "manifest.json").write_text('{"name": "another program"}')
    refused(command("report", "."), "not written by farloop")
    (command.directory / "manifest.json").write_text("{")
    refused(command("report", "."), "not JSON")


def test_report_of_a_damaged_output(command, small):
    assert command("run", str(small), "--out", "r", "--quiet", "--no-report").returncode == 0
    (command.directory / "r" / "flows.parquet").write_bytes(b"no parquet")
    refused(command("report", "r"), "damaged")


def test_report_of_another_versions_output(command, small):
    assert command("run", str(small), "--out", "r", "--quiet", "--no-report").returncode == 0
    for name in fields.TABLES:
        assert pq.read_table(command.directory / "r" / f"{name}.parquet").column_names == fields.columns(name)
    flows = command.directory / "r" / "flows.parquet"
    pq.write_table(pq.read_table(flows).drop_columns(["stop_ps"]), flows)
    refused(command("report", "r"), "r/flows.parquet", "no column stop_ps", "an older build", "make it again")


def test_new_algorithm_outside_a_checkout(command):
    refused(command("new-algorithm", "my-vegas"), "checkout")
    refused(command("new-algorithm", "My Vegas"), "lower case")
    refused(command("new-algorithm", "hpcc"), "there is an algorithm")


STUDIES = {
    # what: (the text, what the message must name)
    "arrays in one another": ("x = 1\na = " + "[" * 5000 + "]" * 5000, ["study.toml:2", "more than 40 brackets"]),
    "arrays without an end": ("a = " + "[" * 100_000, ["study.toml:1", "more than 40 brackets"]),
    "tables in one another": ("a = " + "{a=" * 3000 + "1" + "}" * 3000, ["study.toml:1", "more than 40 brackets"]),
    "a long dotted key": ("x = 1\n\n" + ".".join("a" * 100_000) + " = 1", ["study.toml:3", "more than 40 parts"]),
    "a long heading": ("[" + ".".join("a" * 100_000) + "]", ["study.toml:1", "more than 40 parts"]),
    "deep in three ways": (
        "x = 1\n[" + ".".join("a" * 35) + "]\n" + ".".join("b" * 35) + " = {" + ".".join("c" * 35) + " = 1}",
        ["study.toml:2: a: more than 100 tables"],
    ),
    "a number of 5,000 digits": ("x = 1\n[grid]\nseed = " + "9" * 5000, ["study.toml:3", "5000 digits", "64 bits"]),
    "a number of 5,000 hexadecimal digits": (
        "base = 'small.toml'\n[grid]\nseed = [1, 0x" + "f" * 5000 + "]",
        ["study.toml:3: grid.seed.2", "beyond 64 bits"],
    ),
    "a number beyond 64 bits": ("x = 9223372036854775808", ["study.toml:1: x", "beyond 64 bits"]),
    "ends in a key": ("x = 1\n\nbas", ["study.toml:3", "not valid TOML"]),
    "ends in a value": ("x = 1\n\nbase =", ["study.toml:3", "not valid TOML"]),
    "ends in a text": ('x = 1\n\nbase = "sma', ["study.toml:3", "does not end", "quotation mark"]),
    "ends in a text of many lines": ('x = 1\n\nbase = """sma\n\n\n', ["study.toml:3", "does not end"]),
    "ends in a list": ("x = 1\n\na = [1,\n2,\n", ["study.toml:3", "does not end"]),
    "ends in a heading": ("x = 1\n\n[gri", ["study.toml:3", "does not end"]),
    "ends in a table": ("x = 1\n\na = {b = 1", ["study.toml:3", "does not end"]),
    "the least of nothing": (
        'base = "small.toml"\nwhere = "min([]) > 1"\n[grid]\nseed = "1-2"',
        ["study.toml:2: where", "min([]) > 1", "cannot be worked out"],
    ),
    "whole numbers beyond 64 bits at random": (
        'base = "small.toml"\n[random]\nsamples = 2\nrun.seed = { from = 1, to = 99999999999999999999 }',
        ["study.toml:4", "beyond 64 bits"],
    ),
    "times beyond 64 bits at random": (
        'base = "small.toml"\n[random]\nsamples = 2\nnetwork.wan_delay = { from = "1s", to = "1e300s" }',
        ["study.toml:4: random.network.wan_delay", "too large"],
    ),
    "more than floating point has at random": (
        'base = "small.toml"\n[random]\nsamples = 2\nx = { from = -1e308, to = 1e308 }',
        ["study.toml:4: random.x", "too large"],
    ),
    "an endless time at random": (
        'base = "small.toml"\n[random]\nsamples = 2\nnetwork.wan_delay = { from = "1s", to = "1e999s", scale = "log" }',
        ["study.toml:4: random.network.wan_delay", "too large"],
    ),
}


@pytest.mark.parametrize("what", STUDIES)
def test_malformed_studies(what, command, small):
    text, named = STUDIES[what]
    small.with_name("study.toml").write_text(text, encoding="utf-8")
    refused(command("sweep", "study.toml", "--out", "r"), *named)
    assert not (command.directory / "r").exists()


RING = "num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 0\n}\nrank 1 {\nl1: recv 8b from 0 tag 0\n}\n"


@pytest.mark.parametrize(
    ("old", "new", "hosts", "named"),
    [
        ("", "", "h{" + "9" * 5000 + "}", ["hosts", "is too large"]),
        ("", "", "\udcff{1}", ["hosts", "is not UTF-8"]),
        ("tag 0\n}\nrank 1", "tag " + "9" * 5000 + "\n}\nrank 1", "h{1}", ["ring.goal:3", "is too large"]),
        ("to 1", "to " + "9" * 5000, "h{1}", ["ring.goal:3", "is too large"]),
        ("num_ranks 2", "num_ranks " + "9" * 5000, "h{1}", ["ring.goal:1", "is too large"]),
    ],
)
def test_malformed_goal(old, new, hosts, named, command):
    (command.directory / "ring.goal").write_text(RING.replace(old, new, 1))
    refused(command("import-goal", "ring.goal", "--hosts", hosts), *named)


def test_a_rank_with_a_large_number_needs_no_names_for_all_others(command):
    text = RING.replace("num_ranks 2", "num_ranks 999999999999999999").replace("to 1 ", "to 999999999999999998 ")
    (command.directory / "ring.goal").write_text(text.replace("rank 1 {", "rank 999999999999999998 {"))
    done = command("import-goal", "ring.goal")
    assert done.returncode == 0, done.stderr
    assert "h999999999999999999" in done.stdout


LISTED = SMALL[: SMALL.index("[[flow]]")] + '[workload]\nflows = "flows.csv"\n'


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ("a,s1,d1,10kB,\nb,s1,d1,10kB,b\n", ['flows.csv:3: after: the flow "b" waits for itself; expected']),
        ("a,s1,d1,10kB,b\nb,d1,s1,10kB,a\n", ["flows.csv:", "waits for itself, by way of others"]),
        # As many as a search that goes through all of them for each one would not end with.
        (
            "".join(f"f{i},s1,d1,1kB,f{(i + 1) % 100_000}\n" for i in range(100_000)),
            ["flows.csv:", "waits for itself, by way of others"],
        ),
    ],
)
def test_flows_in_a_file_that_wait_for_themselves(rows, named, command, small):
    small.write_text(LISTED, encoding="utf-8")
    small.with_name("flows.csv").write_text("name,from,to,size,after\n" + rows, encoding="utf-8")
    refused(command("explain", "small.toml"), *named)


def test_a_pipe_that_nobody_writes_into_stops_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "PATIENCE", 0.1)
    os.mkfifo(tmp_path / "pipe.toml")
    pipe = str(tmp_path / "pipe.toml")
    for words in (
        ["run", pipe],
        ["sweep", pipe],
        ["import-goal", pipe],
        ["import-graphml", pipe],
        ["import-flows", pipe],
    ):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2, done.output
        assert "is a pipe, and nothing came out of it" in done.stderr or "is no regular file" in done.stderr


def test_a_pipe_that_somebody_writes_into_is_a_scenario(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    writer = threading.Thread(target=lambda: (time.sleep(0.5), (tmp_path / "pipe.toml").write_text(SMALL)))
    writer.start()
    assert farloop.Scenario.load(tmp_path / "pipe.toml").text == SMALL
    writer.join()


@pytest.mark.dear
def test_more_changes_of_links_than_anything_could_hold():
    fabric = 'run.duration = "1ms"\nalgorithm.name = "dctcp"\nswitch.buffer = "1GB"\n[[flow]]\nfrom = "h1"\nto = "h2"\n'
    fabric += '[network]\ntopology = "spine-leaf"\nleaves = 100\nspines = 100\nhosts_per_leaf = 50\n'
    events = "".join(f'[[event]]\nat = "{i}ns"\nlink = "*<->*"\nloss = 0.1\n' for i in range(1, 400))
    with pytest.raises(farloop.ScenarioError) as caught:
        _ = farloop.Scenario.from_text(fabric + events).resolved
    message = str(caught.value)
    assert "event.334.link: there are more than 5000000 changes of links with this one; expected fewer links" in message
