"""`farloop advise`: candidates, races, searches, other conditions, the page, and questions that are wrong."""

import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.advice import ALGORITHMS, SITES

import farloop
from farloop.commands import advise
from farloop.experiments import tasks
from farloop.output.store import Store, address
from farloop.scenario import ARENA, Scenario
from farloop.studies.advice import advice_headline, asking, conditions, content, question, racing, runs, trying, tuning
from farloop.studies.advice import answer as answers
from farloop.studies.arena import quantities
from farloop.studies.arena.measuring import Measured
from farloop.views import advice_page

ROOT = Path(__file__).parents[2]


class Made:
    """Simulations that are numbers: a mean and a spread for each algorithm, and what constraints look at."""

    def __init__(self, means, spread=0.1, cost=1.0, values=None):
        self.means, self.spread, self.cost, self.values = means, spread, cost, values or {}
        self.spent, self.made, self.asked = 0.0, 0, 0

    def ask(self, wanted):
        answered = []
        for ask in wanted:
            seed = int(dict(ask.scenario.overrides)["run.seed"])
            draw = np.random.default_rng([seed, len(ask.algorithm), sum(map(ord, ask.algorithm))])
            score = self.means[ask.algorithm] * math.exp(self.spread * draw.normal())
            values = {"paused_share": 0.0, "longest_rtt_s": 0.01} | self.values.get(ask.algorithm, {})
            answered.append(
                runs.Answered(ask, Measured("", ask.algorithm, seed, "finite", {"x": score}, values), "", self.cost)
            )
            self.spent += self.cost
            self.made += 1
        return answered


def candidates(means):
    base = Scenario.from_text(SITES)
    return [racing.Candidate(name, name, base) for name in means]


def asked(**arguments):
    return question.read(Scenario.from_text(SITES), **{"tune": False, **arguments})


def test_a_race_finds_the_best_and_gives_it_the_seeds():
    means = {"a": 1.0, "b": 1.6, "c": 2.0, "d": 3.0}
    made = Made(means)
    race = racing.race(candidates(means), asked(), made, 1000)
    assert [place.candidate.name for place in race.leaders] == ["a"]
    assert race.is_decided
    assert [place.state for place in race.places] == ["leads", "left", "left", "left"]
    assert made.made < 4 * racing.MAX_SEEDS / 4, "what is told apart gets no more seeds"
    assert race.places[1].against.estimate == pytest.approx(1.6, rel=0.2)


def test_a_race_between_equals_says_that_they_are():
    means = {"a": 1.0, "b": 1.0, "c": 2.0}
    race = racing.race(candidates(means), asked(), Made(means, spread=0.02), 1000)
    assert {place.candidate.name for place in race.leaders} == {"a", "b"}
    assert race.is_decided


def test_a_race_without_budget_gives_up_the_worse_half_and_says_so():
    means = {"a": 1.0, "b": 1.1, "c": 1.3, "d": 1.4}
    race = racing.race(candidates(means), asked(), Made(means, spread=0.5), 40)
    states = {place.candidate.name: place.state for place in race.places}
    assert not race.is_decided
    assert list(states.values()).count("open") == 2
    assert race.seeds == 12
    assert race.wanted is not None
    assert race.wanted > 40
    more = racing.race(candidates(means), asked(), Made(means, spread=0.5), race.wanted)
    assert more.seeds > 12, "the budget that it names is enough for another round"


def test_an_interval_that_says_nothing_is_not_printed():
    wide = {"estimate": 1.1, "low": 0.001, "high": 900.0, "n": 3}
    assert "unsure after 3 seeds" in advice_page._ratio(wide).text
    assert "[0.9, 1.3]" in advice_page._ratio(wide | {"low": 0.9, "high": 1.3}).text


def test_what_breaks_a_constraint_does_not_lead():
    means = {"fast": 1.0, "slow": 2.0, "slower": 4.0}
    made = Made(means, values={"fast": {"paused_share": 0.3}, "slower": {"paused_share": 0.2}})
    race = racing.race(candidates(means), asked(), made, 1000)
    assert [(p.candidate.name, p.state) for p in race.places] == [
        ("slow", "leads"),
        ("slower", "fails"),
        ("fast", "fails"),
    ]
    assert race.places[2].because == "paused 30 %, not <= 10 %"
    made = Made(means, values={name: {"paused_share": 0.2 * i} for i, name in enumerate(means, 1)})
    nothing = answers.Answer(asked(), [], racing.race(candidates(means), asked(), made, 1000))
    assert nothing.advised == []
    assert nothing.sentence() == "Nothing holds your constraints; nearest is fast (paused 20 %, not <= 10 %)."


def test_of_two_that_are_alike_the_one_that_pauses_less_stands_first():
    means = {"pauses": 1.0, "calm": 1.02}
    made = Made(means, spread=0.001, values={"pauses": {"paused_share": 0.04}})
    race = racing.race(candidates(means), asked(), made, 100)
    assert [place.candidate.name for place in race.leaders] == ["calm", "pauses"]


def test_a_race_is_the_same_every_time():
    means = {"a": 1.0, "b": 1.2, "c": 1.3}
    first, again = (racing.race(candidates(means), asked(), Made(means, spread=0.4), 200) for _ in range(2))
    assert [(p.candidate.name, p.state, p.against) for p in first.places] == [
        (p.candidate.name, p.state, p.against) for p in again.places
    ]


def test_goals_are_costs_of_which_half_is_twice_as_good():
    measured = Measured("", "a", 1, "finite", {"x": 2.0}, {"goodput_bps": 4e9, "paused_share": 0.0})
    assert asked().costs(measured) == {"x": 2.0}
    assert asked(goal="goodput").costs(measured) == {"goodput": 1 / 4e9}
    assert asked(goal="paused").costs(measured) == {"paused": 1e-4}, "of nothing there is no ratio"
    assert asked(goal="fairness").costs(measured) == {}


@pytest.mark.long
def test_what_cannot_be_had_is_no_candidate():
    candidates, excluded = answers.candidates_of(asked(can=["ecn"]))
    names = {candidate.algorithm for candidate in candidates}
    assert {"dctcp", "cubic", "dcqcn"} <= names
    assert not names & {"swift", "hpcc", "mlcc", "gear", "fixed", "gear-literal"}
    because = {refusal.algorithm: refusal.because for refusal in excluded}
    assert because["hpcc"] == "it needs switches that write telemetry into packets (INT)"
    assert "no Linux kernel or network card ships it" in because["swift"]
    assert "hpcc" in {c.algorithm for c in answers.candidates_of(asked(can=["int", "kernel"]))[0]}


def test_parameters_are_looked_for_around_what_the_scenario_has():
    scenario = Scenario.from_text(SITES).override({"algorithm.swift.base_target": "40us"}, algorithm="swift")
    ranges = {parameter.name: parameter for parameter in tuning.ranges(racing.Candidate("swift", "swift", scenario))}
    assert (ranges["base_target"].low, ranges["base_target"].high) == pytest.approx((10e-6, 160e-6))
    assert ranges["base_target"].text(12.3456e-6) == "12.35us"
    assert ranges["beta"].high == 1.0, "within its range"
    for parameter in ranges.values():
        settings = tuning.keys("swift", {parameter.name: parameter.text(math.sqrt(parameter.low * parameter.high))})
        assert scenario.override(settings).resolved, parameter.name


@pytest.mark.long
def test_every_algorithm_can_be_tuned_within_its_ranges():
    base = Scenario.from_text(SITES)
    for entry in farloop.algorithms():
        scenario = base.override(algorithm=entry["name"])
        candidate = racing.Candidate(entry["name"], entry["name"], scenario)
        try:
            ranges = tuning.ranges(candidate)
        except farloop.ScenarioError:
            continue
        for parameter in ranges:
            assert parameter.low < parameter.high
            for value in (parameter.low, parameter.high):
                settings = tuning.keys(entry["name"], {parameter.name: parameter.text(value)})
                try:
                    assert scenario.override(settings).resolved
                except farloop.ScenarioError as error:
                    # Of two that depend on each other one alone may be out of bounds, which a trial is refused for; never a unit.
                    assert "with its unit" not in str(error), parameter


def test_a_search_gains_what_other_seeds_confirm():
    pytest.importorskip("optuna")

    class Better(Made):
        def ask(self, wanted):
            answered = []
            for ask, answer in zip(wanted, super().ask(wanted), strict=True):
                own = dict(ask.scenario.overrides).get("algorithm.swift.beta")
                factor = 1.0 if own is None else 0.5 + abs(float(own) - 0.4)
                cost = {"x": answer.measured.costs["x"] * factor}
                answered.append(
                    runs.Answered(
                        ask, Measured("", "swift", answer.measured.seed, "finite", cost, answer.measured.values)
                    )
                )
            return answered

    (candidate,) = [c for c in answers.candidates_of(asked(candidates=ALGORITHMS))[0] if c.name == "swift"]
    tuned = tuning.search(candidate, asked(), Better({"swift": 2.0}), 24, 1)
    assert tuned.is_advised
    assert tuned.gain.high < 1
    assert abs(float(tuned.settings["beta"]) - 0.4) < 0.25
    again = tuning.search(candidate, asked(), Better({"swift": 2.0}), 24, 1)
    assert again.settings == tuned.settings
    idle = tuning.search(candidate, asked(), Made({"swift": 2.0}, spread=0.3), 8, 1)
    assert not idle.is_advised, "nothing depends on a parameter"


def test_conditions_vary_what_the_scenario_has():
    varied = conditions.conditions(Scenario.from_text(SITES).override(algorithm="dctcp"))
    assert {c.kind for c in varied.all} == {"load", "RTT", "buffer", "ties"}
    settings = {c.text: dict(c.settings) for c in varied.all}
    assert settings["load × 0.8"] == {"workload.load": "0.4"}
    assert settings["RTT across × 2"] == {"network.wan_delay": "2000000000ps"}
    assert settings["buffer × 0.5"] == {"switch.buffer": "1000000B", "wan_switch.buffer": "100000000B"}
    assert "no link between sites that carries traffic has an alternative" in varied.left_out["failed link"]
    assert [c.text for c in varied.all[:3]] == ["buffer × 0.5", "RTT across × 2", "load × 1.2"]
    costs = {c.text: trying.estimated_cost(c, 1.0) for c in varied.all}
    assert (costs["load × 0.5"], costs["load × 2"], costs["RTT across × 2"]) == (1.0, 2.0, 1.0)


NAMED = """
[[workload]]
name = "rounds"
pattern = "incast"
sizes = "30kB"
interval = "2ms"
stop = "15ms"

[[switch_override]]
match = "*border*"
buffer = "100MB"
"""


def test_conditions_know_workloads_by_name_and_switches_with_buffers_of_their_own():
    scenario = Scenario.from_text((ROOT / "examples/my-network.toml").read_text("utf-8") + NAMED)
    varied = conditions.conditions(scenario)
    settings = {c.text: dict(c.settings) for c in varied.all}
    assert settings["load × 0.5"] == {"workload.web.load": "0.2", "workload.rounds.interval": "4000000000ps"}
    assert settings["buffer × 0.5"] == {
        "switch.buffer": "8000000B",
        "wan_switch.buffer": "100000000B",
        "switch_override.*border*.buffer": "50000000B",
    }
    assert varied.all[0].kind == "failed link", "the border router has links to two spines"
    assert "-spine" in varied.all[0].text
    assert "-border1" in varied.all[0].text
    assert not varied.left_out
    for condition in varied.all:
        assert condition.apply(scenario).resolved, condition.text


def test_conditions_of_a_drawn_network_vary_its_long_links_and_leave_out_the_load_of_a_list():
    scenario = Scenario.load(ROOT / "examples/backbone.toml")
    varied = conditions.conditions(scenario)
    assert {c.kind for c in varied.all} == {"RTT", "buffer", "ties", "failed link"}
    assert "workload 1" in varied.left_out["load"]
    (double,) = [c for c in varied.all if (c.kind, c.factor) == ("RTT", 2.0)]
    assert double.settings["link.seattle->sunnyvale.delay"] == "11400000000ps"
    assert not any("host-" in key for key in double.settings)
    for condition in varied.all:
        assert condition.apply(scenario).resolved, condition.text


def test_the_busiest_link_between_sites_fails_half_way_through_the_arrivals():
    several = Scenario.load(ARENA / "failed-long-haul.toml")
    assert "events of its own" in conditions.conditions(several).left_out["failed link"]
    without = Scenario.from_text(
        several.text.partition("[[event]]")[0].replace("detection_time", "# detection_time")
    ).override(algorithm="dctcp")
    failed = conditions.conditions(without).all[0]
    assert 'link = "dc0-dci1<->dc1-dci1"' in failed.settings[""]
    (event,) = failed.apply(without).resolved["event"]
    assert event["at"] == "15ms"


def test_every_condition_runs_under_one_seed_before_any_runs_under_more():
    means = {"a": 1.0, "b": 2.0, "c": 3.0}
    every = conditions.conditions(Scenario.from_text(SITES)).all
    made, three = Made(means), candidates(means)
    race = racing.race(three, asked(), made, 0)
    ask = asked(budget=f"{made.spent + 2.2 * len(every) + 8:g}s")
    screened = trying.screen(every, three, race.costs, race.measured, ask, made)
    assert [outcome.condition for outcome in screened] == every
    assert {outcome.seeds for outcome in screened} == {1}
    assert {len(outcome.standings) for outcome in screened} == {2}, "there is no room for the third"
    refined = trying.refine(screened, three[:2], race.measured, ask, made)
    assert [outcome.seeds for outcome in refined].count(3) >= 1
    assert refined[0].seeds == 3, "the first that operators ask for"
    few = trying.screen(every, three, race.costs, race.measured, asked(budget=f"{made.spent + 5:g}s"), made)
    assert 0 < len(few) < len(every)


def test_a_condition_says_how_bad_it_gets_for_the_advised():
    means = {"a": 1.0, "b": 2.0}
    today = racing.race(candidates(means), asked(), Made(means, spread=0.001), 0).measured
    worse = Made({"a": 3.0, "b": 2.0}, spread=0.001)
    (condition,) = [c for c in conditions.conditions(Scenario.from_text(SITES)).all if c.text == "buffer × 0.5"]
    outcome = trying.try_condition(condition, candidates(means), 3, today, asked(), worse)
    assert outcome.first == outcome.best == ["b"]
    assert outcome.changes["a"].times == pytest.approx(3.0, rel=0.02)
    assert outcome.changes["b"].times == pytest.approx(1.0, rel=0.02)


def test_only_conditions_that_were_simulated_count_as_holding():
    made = {"text": "load × 1.2", "because": "", "best": ["dctcp"]}
    refused = {"text": "load × 2", "because": "dctcp: more than its links carry"}
    page = {"advised": ["dctcp"], "flips": []}
    assert advice_headline.stays_text(page | {"conditions": [made, refused]}) == (
        "dctcp stays in the first group under the one condition that was simulated, and is within 5 % of the best under each of them; "
        "1 could not be simulated."
    )
    assert "No other condition was simulated" in advice_headline.stays_text(page | {"conditions": [refused]})


def test_a_question_from_a_file(tmp_path):
    (tmp_path / "sites.toml").write_text(SITES, encoding="utf-8")
    (tmp_path / "ask.toml").write_text(
        'scenario = "sites.toml"\ngoal = "goodput"\nmust = ["no pfc"]\ncan = ["ecn"]\nbudget = "2min"\ntune = false\nseed = 7\n',
        encoding="utf-8",
    )
    asked_for = question.read(tmp_path / "ask.toml", goal="mean slowdown")
    assert asked_for.goal.name == "mean slowdown"
    assert (asked_for.budget, asked_for.can, asked_for.tune, asked_for.seed) == (120, ("ecn",), False, 7)
    assert "no paused" in map(str, asked_for.must)


@pytest.mark.parametrize("text", ['[set]\nrun.duration = "7ms"', '[set]\n"run.duration" = "7ms"'])
def test_settings_of_a_question_are_dotted_keys(text, tmp_path):
    (tmp_path / "sites.toml").write_text(SITES, encoding="utf-8")
    (tmp_path / "ask.toml").write_text(f'scenario = "sites.toml"\n{text}\n', encoding="utf-8")
    assert question.read(tmp_path / "ask.toml").scenario.resolved["run"]["duration"] == "7ms"


@pytest.mark.parametrize(
    ("text", "written"), [("1s", "1 s"), ("90s", "1.5 min"), ("10min", "10 min"), ("90 min", "1.5 h")]
)
def test_a_budget_is_told_in_its_unit(text, written):
    assert question.budget_text(question.seconds(text)) == written


WRONG = [
    (["--goal", "speed"], "goal: speed: no such quantity"),
    (["--must", "paused"], "paused: no constraint"),
    (["--must", "goodput >= 90 %", "--must", "goodput <= 50 %"], "nothing can hold both"),
    (["--must", "goodput >= 110 %"], "nothing can hold it; expected no more than 100 % of the best"),
    (["--must", "p99 slowdown <= 0.5"], "nothing can hold it; expected 1 or more"),
    (["--can", "magic"], "can: magic: unknown"),
    (["--budget", "soon"], "budget: soon: expected a time such as 90s, 10min or 2h"),
    (["--budget", "1s"], "expected 1 min or more"),
    (["--candidates", "dctcp"], "expected two algorithms or more"),
    (["--candidates", "dctcp,dctp"], "dctp: no such algorithm"),
    (["--set", "run.duraton=1ms"], 'did you mean "duration"'),
    (["--can", "ecn", "--candidates", "hpcc,swift"], "0 algorithms can run there"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_a_wrong_question_is_a_line(arguments, message, command):
    (command.directory / "sites.toml").write_text(SITES, encoding="utf-8")
    done = command("advise", "sites.toml", "--no-tune", *arguments, "--out", "a")
    assert done.returncode == 2, done.stderr
    assert message in re.sub(r"\s+", " ", done.stderr)
    assert "Traceback" not in done.stderr
    assert not (command.directory / "a").exists()


UNREADABLE = [
    ("absent.toml", None, "absent.toml: no such file; expected a scenario file"),
    ("folder.toml", "folder", "folder.toml: is a directory; expected a scenario file"),
    ("bytes.toml", b"\xff\xfe\x00", "bytes.toml:1: is not UTF-8 text"),
    ("broken.toml", b'scenario = "sites.toml"\ngoal = "good', "broken.toml:2: is not valid TOML"),
    (
        "twice.toml",
        b'goal = "goodput"\ngoal = "fct"',
        "twice.toml:2: not valid TOML: duplicate key; expected each key once",
    ),
    ("around.toml", b'scenario = "broken.toml"', "broken.toml:2: not valid TOML"),
]


@pytest.mark.parametrize(("name", "content", "message"), UNREADABLE)
def test_a_file_that_cannot_be_read_is_a_line(name, content, message, command):
    (command.directory / "broken.toml").write_bytes(b'scenario = "sites.toml"\ngoal = "good')
    if content == "folder":
        (command.directory / name).mkdir()
    elif content is not None:
        (command.directory / name).write_bytes(content)
    done = command("advise", name, "--out", "a")
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (command.directory / "a").exists()


def test_a_question_that_is_wrong_leaves_what_was_there(command):
    (command.directory / "sites.toml").write_text(SITES, encoding="utf-8")
    (command.directory / "a").mkdir()
    (command.directory / "a" / "report.html").write_text("yesterday's", encoding="utf-8")
    ask = ["advise", "sites.toml", "--no-tune", "--candidates", ALGORITHMS, "--out", "a", "--force"]
    assert command(*ask, "--goal", "speed").returncode == 2
    assert command(*ask, "--budget", "1s").returncode == 2
    assert [path.name for path in (command.directory / "a").iterdir()] == ["report.html"]
    assert (command.directory / "a" / "report.html").read_text("utf-8") == "yesterday's"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'scenario = "sites.toml"\ngaol = "goodput"',
            ":2: gaol: unknown key; did you mean goal? accepted keys: scenario, goal",
        ),
        ('scenario = "sites.toml"\n\n"a\\u202e" = 1', ":3: a\\u202e: unknown key; accepted keys: scenario, goal"),
        ('goal = "goodput"', ":1: scenario: is missing; expected the file of a scenario beside goal"),
        ('scenario = "sites.toml"\nmust = "no pfc"', ":2: must: expected a list of texts"),
        ('scenario = "sites.toml"\nmust = ["no luck"]', ":2: must: luck: no such quantity; "),
        ('scenario = "sites.toml"\nbudget = 10', ':2: budget: expected a text, such as "10min"'),
        ('scenario = "sites.toml"\n\nbudget = "10 days"', ":3: budget: 10 days: expected a time such as 90s"),
        ('scenario = "sites.toml"\ngoal = "speed"', ":2: goal: speed: no such quantity"),
        ('scenario = "sites.toml"\ncan = ["lasers"]', ":2: can: lasers: unknown; there is ecn"),
        (
            'scenario = "sites.toml"\ncandidates = ["dctcp", "gemni"]',
            ":2: candidates: gemni: no such algorithm; did you mean gemini?",
        ),
        ('scenario = "sites.toml"\nseed = -1', ":2: seed: -1: expected a whole number from 0"),
        (
            'scenario = "sites.toml"\n[set]\nrun.durations = "1s"',
            ':3: set.run.durations: unknown key; did you mean "duration"?',
        ),
        (
            'scenario = "sites.toml"\nset."run.duration" = "x"',
            ':2: set.run.duration: "x" has no number; expected a time',
        ),
        ('\nscenario = "absent"', ":2: scenario: absent: "),
    ],
)
def test_a_wrong_question_file_is_told_with_its_line_and_key(text, message, tmp_path):
    (tmp_path / "sites.toml").write_text(SITES, encoding="utf-8")
    (tmp_path / "ask.toml").write_text(text, encoding="utf-8")
    with pytest.raises((farloop.FarloopError, farloop.ScenarioError), match=re.escape("ask.toml" + message)):
        question.read(tmp_path / "ask.toml")


def test_the_command_passes_its_options_on(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(asking, "write", lambda *arguments, **options: given.append((arguments, options)))
    (tmp_path / "sites.toml").write_text(SITES, encoding="utf-8")
    advise.advise(
        str(tmp_path / "sites.toml"),
        goal="goodput",
        must=["no pfc"],
        can=["ecn"],
        candidates="dctcp,swift",
        budget="90s",
        set_=["workload.load=0.3"],
        seed=7,
        no_tune=True,
        workers=3,
        store=tmp_path / "store",
        out=tmp_path / "a",
        force=True,
        no_report=True,
        quiet=True,
    )
    (((question_, target, execution), options),) = given
    assert (question_.goal_text, question_.can, question_.candidates) == ("goodput", ("ecn",), ("dctcp", "swift"))
    assert (question_.budget, question_.seed, question_.tune) == (90, 7, False)
    assert "no paused" in map(str, question_.must)
    assert question_.scenario.parsed["workload"]["load"] == 0.3
    assert target == tmp_path / "a"
    assert (execution.workers, execution.store) == (3, tmp_path / "store")
    assert {name: options[name] for name in ("force", "page")} == {"force": True, "page": None}


def test_a_page_marks_percentiles_over_few_flows():
    few = {"few_flows": {"p99 slowdown of large flows": 6.5}}
    names = ["p99 slowdown of large flows", "p99 slowdown of small flows", "goodput"]
    assert [head.text for head in advice_page._heads(names, few)] == ["p99 slowdown of large flows *", *names[1:]]
    assert quantities.quantity("p99 slowdown of small flows across").flows_key == "cross_small_flows"
    assert quantities.quantity("p99 slowdown").flows_key == "all_all_flows"
    assert {quantities.quantity(name).flows_key for name in ("mean slowdown", "goodput")} == {""}


def test_percentiles_over_few_flows_are_those_of_the_mean_over_seeds():
    counts = [{"all_small_flows": 30, "all_large_flows": large} for large in (3, 4)]
    measured = [Measured("s", "dctcp", seed, "finite", {}, values) for seed, values in enumerate(counts)]
    asked = SimpleNamespace(goal=None, must=())
    answer = SimpleNamespace(question=asked, race=SimpleNamespace(measured={"dctcp": measured}))
    assert content._few_flows(answer) == {"p99 slowdown of large flows": 3.5}


def test_a_page_says_what_tuned_parameters_cost():
    tuned = {"quantities": {"p99 slowdown of large flows": 5.0, "goodput": 9.9e9, "paused": 0.001}}
    usual = {"p99 slowdown of large flows": 2.5, "goodput": 1e10, "paused": 0.0}
    assert advice_page._price(tuned, usual) == ", at the price of p99 slowdown of large flows 2.5 → 5"


def test_a_run_for_which_there_is_no_memory_here_is_no_failure_that_the_store_keeps(tmp_path):
    class Declining:
        workers = 1

        def outcomes(self, wanted, _progress):
            yield from ((task, tasks.Outcome(tasks.DECLINED, "the run may take 9 TB")) for task in wanted)

    store = Store(tmp_path)
    asked_once = runs.Runs(store, Declining)
    ask = runs.Ask("one", "dctcp", Scenario.from_text(SITES).override(algorithm="dctcp"))
    for _ in range(2):
        (answered,) = asked_once.ask([ask])
        assert (answered.measured, answered.because) == (None, "the run may take 9 TB")
    assert not store.failure(address(ask.scenario)), "another machine may have the memory"
