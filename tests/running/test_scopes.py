"""A pair of algorithms, of flows inside a datacenter and of flows across, is compared, judged and asked about as one."""

import pytest

import farloop
from farloop import catalogue
from farloop.algorithm import load as load_algorithms
from farloop.errors import FarloopError
from farloop.scenario import Scenario
from farloop.studies.advice import answer
from farloop.studies.advice.question import read as read_question
from farloop.studies.advice.tuning import keys, ranges
from farloop.studies.arena import requirements
from farloop.studies.arena.plan import plan

SITES = """\
run.duration = "2ms"
network = { topology = "dumbbell", intra_pairs = 1, cross_pairs = 1, rate = "10Gbps", wan_delay = "100us" }
transport = { kind = "tcp" }
algorithm.name = "cubic"
flow = [
    { name = "near", from = "s1", to = "d1", size = "500kB" },
    { name = "far", from = "s2", to = "r1", size = "500kB" },
]
"""

SLOW = """\
from farloop.algorithm import Algorithm


class Slow(Algorithm):
    '''Two packets per round trip.'''

    def start(self, flow):
        self.cwnd = 2 * flow.mss

    def on_ack(self, ctx, ack):
        pass
"""


@pytest.fixture
def sites(tmp_path):
    path = tmp_path / "sites.toml"
    path.write_text(SITES)
    return path


def said(result):
    return result.stdout + result.stderr


def by_name(run):
    return {row["name"]: row["algorithm"] for row in run.flows.to_pylist()}


def test_compare_labels_the_pair_and_runs_both():
    result = farloop.compare(Scenario.from_text(SITES), "cubic,dctcp/bbr")
    assert [run.label for run in result.runs] == ["cubic", "dctcp/bbr"]
    assert by_name(result.runs[1]) == {"near": "dctcp", "far": "bbr"}
    assert {"cubic", "dctcp/bbr"} <= set(result.summary)


def test_commands_write_and_read_the_pair(command, sites, tmp_path):
    out = tmp_path / "out"
    done = command("compare", str(sites), "--algorithms", "dctcp/bbr,cubic", "--out", str(out))
    assert done.returncode == 0 and "dctcp/bbr" in done.stdout
    again = farloop.load(out)
    assert [run.algorithm for run in again.runs] == ["dctcp/bbr", "cubic"]
    single = tmp_path / "single"
    done = command("run", str(sites), "--algorithm", "dctcp/bbr", "--out", str(single), "--no-report")
    assert done.returncode == 0
    assert [run.algorithm for run in farloop.load(single).runs] == ["dctcp/bbr"]


def test_a_class_may_be_a_side(command, sites, tmp_path):
    file = tmp_path / "slow.py"
    file.write_text(SLOW)
    out = tmp_path / "out"
    words = ("--algorithm", "slow/cubic", "--algorithm-file", str(file), "--out", str(out), "--no-report")
    done = command("run", str(sites), *words)
    assert done.returncode == 0 and "nothing names" not in said(done)
    assert by_name(farloop.load(out).runs[0]) == {"near": "slow", "far": "cubic"}


@pytest.mark.long
def test_arena_and_advise_take_files_of_algorithms(command, sites, tmp_path):
    file = tmp_path / "slow.py"
    file.write_text(SLOW)
    own = ("--algorithm-file", str(file), "--no-report")
    held = tmp_path / "held"
    done = command(
        *(
            "arena",
            "--scenario",
            str(sites),
            "--algorithms",
            "slow,slow/cubic,cubic",
            "--seeds",
            "1-2",
            "--same-start",
            "own",
        ),
        *("--jitter", "0", "--must", "none", "--out", str(held), *own),
    )
    assert done.returncode == 0, said(done)
    rows = (held / "ranking.csv").read_text()
    assert "slow/cubic" in rows and requirements.OWN in rows
    asked = tmp_path / "asked"
    done = command(
        *("advise", str(sites), "--candidates", "slow,slow/cubic", "--budget", "30s", "--no-tune", "--must", "none"),
        *("--out", str(asked), *own),
    )
    assert done.returncode == 0, said(done)
    assert "Run slow/cubic" in said(done)
    refused = command("advise", str(sites), "--candidates", "slow,cubic")
    assert refused.returncode == 2 and "slow: no such algorithm" in refused.stderr


def test_a_class_is_compared_beside_a_pair_that_names_it(tmp_path):
    file = tmp_path / "slow.py"
    file.write_text(SLOW)
    (slow,) = load_algorithms(file)
    result = farloop.compare(Scenario.from_text(SITES), [slow, "slow/cubic"])
    assert by_name(result.runs[1]) == {"near": "slow", "far": "cubic"}


@pytest.mark.parametrize("name", ["dctcp/brb", "dctcp/", "a/b/c"])
def test_what_is_no_pair_is_refused_by_every_command(command, sites, name):
    for words in (
        ["run", sites, "--algorithm", name],
        ["compare", sites, "--algorithms", f"cubic,{name}"],
        ["arena", "--scenario", sites, "--algorithms", f"cubic,{name}"],
        ["advise", sites, "--candidates", f"cubic,{name}"],
    ):
        refused = command(*map(str, words))
        assert refused.returncode == 2 and len(refused.stderr.strip().splitlines()) == 1, said(refused)
    with pytest.raises(FarloopError):
        farloop.study(base=Scenario.from_text(SITES), grid={"algorithm": ["cubic", name]})


def test_a_side_without_flows_is_said():
    text = SITES.replace('to = "r1"', 'to = "d1"')
    run = farloop.run(Scenario.from_text(text), algorithm="dctcp/bbr")
    (caution,) = [c.text for c in farloop.results.cautions.of_run(run) if "never runs" in c.text]
    assert caution == "dctcp/bbr: no flow crosses datacenters, so bbr never runs"


def test_a_name_beside_a_scope_is_refused(command, sites):
    refused = command("compare", str(sites), "--algorithms", "cubic,reno", "--set", "algorithm.cross=bbr")
    assert refused.returncode == 2 and "algorithm.cross was set before it" in refused.stderr


def test_needs_of_a_pair_are_those_of_both():
    assert requirements.list_requirements("hpcc/dctcp") == ("ecn", "int")
    assert requirements.in_words("cubic/dctcp") == "ECN"
    assert requirements.on_linux("dctcp/bbr") == "in Linux" and requirements.on_linux("dctcp/gear") == "farloop kernel"
    assert requirements.on_linux("dctcp/hpcc") == "" and not requirements.is_shipped("dctcp/hpcc")
    assert requirements.is_reference("dctcp/fixed") and not requirements.is_reference("dctcp/bbr")
    assert catalogue.check_algorithm("mine/bbr", ["mine"]) is None


def test_an_arena_has_a_row_of_the_pair(sites):
    made = plan([str(sites)], "cubic,dctcp/bbr,cubic/hpcc", seeds="1", same_start="own", set=["switch.int=false"])
    (scenario_plan,) = made.scenario_plans
    assert [variant.algorithm for variant in scenario_plan.variants] == ["cubic", "dctcp/bbr"]
    assert [(r.algorithm, "hpcc" in r.because) for r in scenario_plan.refusals] == [("cubic/hpcc", True)]


def test_advice_takes_and_tunes_a_pair(sites):
    question = read_question(str(sites), candidates="cubic,dctcp/bbr")
    candidates, excluded = answer.candidates_of(question)
    assert ([c.name for c in candidates], excluded) == (["cubic", "dctcp/bbr"], [])
    searched = [each.name for each in ranges(candidates[1])]
    assert "dctcp.g" in searched and any(name.startswith("bbr.") for name in searched)
    assert keys("dctcp/bbr", {"dctcp.g": "0.1"}) == {"algorithm.dctcp.g": "0.1"}


def test_a_study_varies_the_pair(tmp_path):
    study = farloop.study(
        base=Scenario.from_text(SITES, str(tmp_path / "sites.toml")),
        grid={"algorithm": ["cubic", "dctcp/bbr"]},
        out=tmp_path / "study",
        workers=1,
    )
    assert [row["algorithm"] for row in study.runs.to_pylist()] == ["cubic", "dctcp/bbr"]
