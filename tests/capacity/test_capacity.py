"""`farloop plan`: known answers, screening, failures, costs, the page, and questions that are wrong."""

import json
from pathlib import Path

import pytest
from markupsafe import Markup

import farloop
from farloop.errors import FarloopError
from farloop.studies.advice import long_haul
from farloop.studies.advice.runs import Answered
from farloop.studies.arena.measuring import Measured
from farloop.studies.capacity import (
    capacity_answer,
    capacity_question,
    confirming,
    screening,
    searching,
    variables,
)
from farloop.views import capacity_page, machine

ROOT = Path(__file__).parents[2]

SITES = """\
title = "Two small sites"
[run]
duration = "40ms"
[network]
topology = "datacenters"
fabric = "spine-leaf"
spines = 1
leaves = 1
hosts_per_leaf = 4
rate = "1Gbps"
fabric_rate = "10Gbps"
wan_rate = "1Gbps"
wan_delay = "100us"
[switch]
buffer = "20MB"
pfc = false
[wan_switch]
buffer = "20MB"
pfc = false
[algorithm]
name = "swift"
[workload]
sizes = "50kB"
between = "cross"
load = 0.4
stop = "10ms"
[record]
flows = []
interval = "none"
"""


def burst(count: int, size: int) -> str:
    """`count` flows of `size` bytes that meet at one port of a border at once, at fixed rates."""
    flows = "".join(
        f'[[flow]]\nname = "f{i}"\nfrom = "dc0-h{i}"\nto = "dc1-h{i}"\nsize = "{size}B"\n' for i in range(1, count + 1)
    )
    head = SITES.partition("[algorithm]")[0].replace('wan_delay = "100us"', 'wan_delay = "1us"')
    return f'{head}[algorithm]\nname = "fixed"\n{flows}[record]\nflows = []\ninterval = "none"\n'


def asked(text=SITES, **arguments):
    return capacity_question.read(
        farloop.Scenario.from_text(text), **{"vary": ["links = 1..4"], "until": ["p99 slowdown <= 3"], **arguments}
    )


class Made:
    """Simulations that are numbers: a function of the settings of a point gives the slowdown."""

    def __init__(self, value, bound=0.1, refuses=""):
        self.value, self.bound, self.refuses = value, bound, refuses
        self.spent, self.made, self.kept, self.packets = 0.0, 0, 0, []

    def ask(self, wanted):
        return [self._answer(ask) for ask in wanted]

    def _answer(self, ask):
        settings = dict(ask.scenario.overrides)
        by_rates = settings.get("run.gear") == "fluid"
        if by_rates and self.refuses:
            return Answered(ask, None, self.refuses)
        number = self.value(settings, by_rates)
        if not by_rates:
            self.packets.append(ask.label)
        self.spent += 1
        self.made += 1
        values = {"all_all_slowdown_p99": number, "longest_rtt_s": 0.01, "dropped": 0}
        error = {"p99_slowdown": {"bound": self.bound}, "fct": {}} if by_rates else None
        return Answered(ask, Measured("", ask.algorithm, 1, "finite", {}, values), "", 1.0, error)


def by_links(numbers, rates=None):
    return lambda settings, by_rates: (rates if by_rates and rates else numbers)[int(settings["network.wan_links"]) - 1]


def answers(question, made):
    return searching.search(question, made, lambda _: None)


def test_rates_that_are_right_leave_two_points_to_packets():
    made = Made(by_links([9.0, 5.0, 2.0, 1.5]))
    (answer,) = answers(asked(seeds=1), made)
    assert (answer.answer, sorted(answer.confirmed)) == (2, [1, 2])
    assert [each.state for each in answer.screened] == ["fails", "fails", "holds", "holds"]
    assert not answer.notes


def test_rates_that_dropped_the_answer_are_corrected_by_its_neighbours():
    made = Made(by_links([9.0, 2.5, 2.0, 1.5], rates=[9.0, 5.0, 2.0, 1.5]))
    (answer,) = answers(asked(seeds=1), made)
    assert answer.answer == 1
    assert answer.notes == ["rates dropped 2 links, which holds packet by packet"]


def test_rates_that_drop_everything_are_checked_at_the_last_point():
    made = Made(by_links([9.0, 5.0, 2.0, 1.5], rates=[9.0, 8.0, 7.0, 6.0]))
    (answer,) = answers(asked(seeds=1), made)
    assert answer.answer == 2
    assert len(answer.notes) == 2


def test_what_the_bound_does_not_separate_is_left_to_packets():
    made = Made(by_links([9.0, 3.2, 2.9, 1.5], rates=[9.0, 2.9, 3.2, 1.5]), bound=0.2)
    (answer,) = answers(asked(seeds=1), made)
    assert [each.state for each in answer.screened] == ["fails", "open", "open", "holds"]
    assert answer.answer == 2


def test_a_gear_without_bounds_or_that_refuses_leaves_all_to_packets():
    made = Made(by_links([9.0, 5.0, 2.0, 1.5]), refuses="x")
    (answer,) = answers(asked(seeds=1), made)
    assert (answer.answer, {each.state for each in answer.screened}) == (2, {"refused"})
    assert sorted(answer.confirmed) == [1, 2]


def test_the_bound_of_iterations_is_that_of_their_times_and_slowdowns():
    error = {"p99_slowdown": None, "fct": {}, "iteration_time": {"bound": 0.02}}
    assert screening.error_bound(error, "iteration_s") == 0.02
    assert screening.error_bound(error, "iteration_slowdown") == 0.02
    assert screening.error_bound(error, "all_all_slowdown_p99") is None
    assert screening.error_bound({"p99_slowdown": {"bound": 0.1}, "fct": {}}, "iteration_s") is None


def test_losses_of_go_back_n_leave_a_point_to_packets(tmp_path):
    """Rates repeat only what was lost; the simulator gives such a run no bound, and nothing is dropped by it."""
    text = (
        burst(3, 300_000)
        .replace('name = "fixed"', 'name = "dctcp"')
        .replace('[wan_switch]\nbuffer = "20MB"', '[wan_switch]\nbuffer = "100kB"')
    )
    until = ["p99 slowdown <= 1.01"]
    plan = farloop.plan(
        farloop.Scenario.from_text(text), vary=["wan_rate = 1Gbps"], until=until, seeds=1, out=tmp_path / "plan"
    )
    (row,) = plan.content["conditions"][0]["by_rates"]
    assert (row["state"], row["values"]["p99 slowdown"]["low"]) == ("open", None)
    assert plan.content["conditions"][0]["by_packets"]["0"]["state"] == "fails"


def test_seeds_that_differ_do_not_hold():
    made = Made(
        lambda settings, _: (
            9.0
            if settings["network.wan_links"] == "3" and settings["run.seed"] == "2"
            else by_links([9, 5, 2, 1.5])(settings, False)
        )
    )
    (answer,) = answers(asked(), made)
    assert (answer.answer, answer.confirmed[2].state) == (3, "depends on the seed")


def test_more_that_rates_are_sure_is_worse_is_noted():
    (answer,) = answers(asked(seeds=1), Made(by_links([9.0, 2.0, 5.0, 1.5])))
    assert answer.answer == 1
    assert answer.notes == [
        "rates are sure that 3 links does not hold, although less does: more is not always better there"
    ]
    (answer,) = answers(asked(seeds=1), Made(by_links([9.0, 2.0, 1.8, 1.5])))
    assert (answer.answer, answer.notes) == (1, [])


def test_each_point_is_screened_by_itself():
    """Rates may refuse one point, such as the smallest buffer, and take the others."""

    class Refusing(Made):
        def _answer(self, ask):
            settings = dict(ask.scenario.overrides)
            refuses = settings.get("run.gear") == "fluid" and settings["network.wan_links"] == "1"
            return Answered(ask, None, "x") if refuses else super()._answer(ask)

    (answer,) = answers(asked(seeds=1), Refusing(by_links([9.0, 5.0, 2.0, 1.5])))
    assert [each.state for each in answer.screened] == ["refused", "fails", "holds", "holds"]
    assert answer.answer == 2


def test_the_budget_ends_a_search_and_says_so():
    made = Made(by_links([9.0, 5.0, 2.0, 1.5]), refuses="x")
    question = asked(along="load = 0.1, 0.2", seeds=1, budget="2s")
    searched = answers(question, made)
    assert [answer.is_decided for answer in searched] == [True, False]
    content = capacity_answer.make_content(question, searched, made)
    assert content["answer"].endswith("the budget ended before packets decided at a load of 0.2.")


def test_costs_order_combinations_and_prune_what_has_less():
    question = asked(vary=["links = 1..3", "wan_rate = 1Gbps, 10Gbps"], cost="links * 10 + wan_rate", seeds=1)
    assert [question.text(option) for option in question.options][:3] == [
        "1 link, a wan_rate of 1Gbps",
        "1 link, a wan_rate of 10Gbps",
        "2 links, a wan_rate of 1Gbps",
    ]

    def value(settings, _):
        return 12.0 / int(settings["network.wan_links"]) / (3 if settings["network.wan_rate"] == "10Gbps" else 1)

    made = Made(value, bound=10.0)
    (answer,) = answers(question, made)
    assert question.text(question.options[answer.answer]) == "2 links, a wan_rate of 10Gbps"
    # Three links at 1 Gbps cost more than two at 10 Gbps: nothing dearer was tried.
    assert max(answer.confirmed) == answer.answer


def test_failures_take_the_busiest_links_and_need_a_path():
    question = asked(survive=1, seeds=1)
    single, double = (long_haul.read_long_haul(question.apply(question.options[i], "")) for i in (0, 1))
    assert not single.stays_connected(confirming.choose_failing(single, 1))
    down = confirming.choose_failing(double, 1)
    assert len(down) == 1
    assert double.stays_connected(down)
    made = Made(by_links([1.0, 1.0, 1.0, 1.0]))
    (answer,) = answers(question, made)
    assert answer.answer == 1
    assert answer.confirmed[0].because == "no path is left with 1 of its links between sites down"


# Plans whose answers are known.


def test_a_plan_that_the_buffer_decides(tmp_path):
    """Three flows at 1 Gbps meet at a link of 1 Gbps: two thirds of their bytes wait there at the end."""
    size = 300_000
    waiting = 2 * size * 1048 // 1000
    sizes = [f"{round(waiting * factor)}B" for factor in (0.5, 0.8, 0.95, 1.3, 2.0)]
    text = burst(3, size).replace(
        '[wan_switch]\nbuffer = "20MB"\npfc = false', '[wan_switch]\nbuffer = "20MB"\nqueue_limit = "20MB"\npfc = false'
    )
    plan = farloop.plan(
        farloop.Scenario.from_text(text),
        vary=[f"wan_switch.queue_limit = {', '.join(sizes)}"],
        until=["no drops"],
        seeds=1,
        out=tmp_path / "plan",
    )
    assert plan.content["conditions"][0]["answer"] == 3
    assert plan.content["options"][3]["values"] == [sizes[3]]


def test_a_plan_that_bandwidth_decides(tmp_path):
    """Four flows of 1 Gbps over a link: alone each has 1 Gbps, so that a slowdown of 2 needs 2 Gbps."""
    text = burst(4, 2_000_000).replace('name = "fixed"', 'name = "swift"')
    plan = farloop.plan(
        farloop.Scenario.from_text(text),
        vary=["wan_rate = 1Gbps, 1500Mbps, 2100Mbps, 4Gbps"],
        until=["mean slowdown <= 2.1"],
        seeds=1,
        out=tmp_path / "plan",
    )
    assert plan.content["options"][plan.content["conditions"][0]["answer"]]["values"] == ["2100Mbps"]


JOB = """\
[run]
duration = "2s"
[network]
topology = "datacenters"
fabric = "spine-leaf"
spines = 1
leaves = 1
hosts_per_leaf = 1
rate = "100Gbps"
[algorithm]
name = "dcqcn"
[[job]]
name = "train"
file = "job.goal"
[record]
interval = "none"
"""


def test_a_plan_that_latency_decides(tmp_path):
    """Ten messages there and back, each after the other, take twenty one-way delays, and nothing else that counts."""
    lines = ["num_ranks 2"]
    for own, other in ((0, 1), (1, 0)):
        lines.append(f"rank {own} {{")
        for i in range(10):
            first, then = ("send", "recv") if own == 0 else ("recv", "send")
            there, back = (
                f"{verb} 1000b {'to' if verb == 'send' else 'from'} {other} tag {2 * i + k}"
                for k, verb in enumerate((first, then))
            )
            lines += [f"a{i}: {there}", f"b{i}: {back}", f"b{i} requires a{i}"]
            lines += [f"a{i} requires b{i - 1}"] if i else []
        lines.append("}")
    (tmp_path / "job.goal").write_text("\n".join(lines) + "\n")
    (tmp_path / "s.toml").write_text(JOB)
    # The farthest comes first: it is what one would like to have. 20 × 1,000 km of fibre are 98 ms.
    plan = farloop.plan(
        tmp_path / "s.toml",
        vary=["distance = 4000km, 2000km, 1000km, 500km"],
        until=["iteration time <= 101ms"],
        seeds=1,
        out=tmp_path / "plan",
    )
    assert plan.content["options"][plan.content["conditions"][0]["answer"]]["text"] == "1,000 km"
    condition = plan.content["conditions"][0]
    assert [row["state"] for row in condition["by_rates"]] == ["fails", "fails", "holds", "holds"]
    assert sorted(condition["by_packets"]) == ["1", "2"], "the answer and its neighbour"


# The output.


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    place = tmp_path_factory.mktemp("plan")
    (place / "sites.toml").write_text(SITES)
    (place / "plan.toml").write_text(
        'scenario = "sites.toml"\nvary = { links = "1..3" }\nalong = { distance = ["10km", "1000km"] }\n'
        'until = ["p99 slowdown <= 4"]\nseeds = 2\n[set]\nworkload.load = 0.5\n'
    )
    return farloop.plan(place / "plan.toml", out=place / "out")


@pytest.mark.long
def test_the_answer_is_the_same_from_the_store_and_on_other_engines(written, tmp_path):
    again = farloop.plan(written.directory.parent / "plan.toml", out=written.directory.parent / "again")
    assert again.made == 0
    content, before = dict(again.content), dict(written.content)
    assert content == before
    other = farloop.plan(written.directory.parent / "plan.toml", out=tmp_path / "out", workers=2)
    assert dict(other.content) == before
    assert (tmp_path / "out" / "answer.json").read_bytes() == (written.directory / "answer.json").read_bytes()


def test_the_page_and_json_have_every_point(written):
    page = (written.directory / "report.html").read_text("utf-8")
    assert str(Markup.escape(written.sentence)) in page
    for option in written.content["options"]:
        assert option["text"] in page
    assert page.count("<svg") == 1
    assert "What was not tried?" in page
    document = machine.plan(written)
    assert [len(condition["points"]) for condition in document["conditions"]] == [3, 3]
    assert json.dumps(document, allow_nan=False)
    assert capacity_page.answers_table(written.content).rows
    assert "<table" in written._repr_html_()
    with pytest.raises(FarloopError, match=r"report\.html has the curves"):
        written.plot()
    with pytest.raises(FarloopError, match=r"its numbers are in answer\.json"):
        farloop.load(written.directory)


def test_a_sentence_says_from_where_to_where():
    options = [{"text": "1 link"}, {"text": "2 links"}]
    question = {"until_text": "p99 slowdown <= 3", "survive": 0}

    def sentence_of(*places, decided=True):
        conditions = [{"answer": place, "is_decided": decided, "text": f"{i} km"} for i, place in enumerate(places, 1)]
        return capacity_answer.sentence({"conditions": conditions, "options": options, "question": question})

    assert sentence_of(0, 0, 1, 1) == "1 link holds p99 slowdown <= 3 up to 2 km; 2 links hold from 3 km on."
    assert (
        sentence_of(0, 1, None)
        == "1 link holds p99 slowdown <= 3 at 1 km; 2 links hold at 2 km; nothing up to 2 links holds at 3 km."
    )
    assert sentence_of(0) == "1 link holds p99 slowdown <= 3."
    assert sentence_of(1, 1) == "2 links hold p99 slowdown <= 3 from 1 km to 2 km."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"vary": None}, 'vary: is missing; expected what is searched, such as --vary "links = 1..8"'),
        ({"vary": ["linkz = 1..8"]}, "vary: linkz: no such variable; did you mean links?"),
        ({"vary": ["links"]}, 'vary: links: expected a name and its values, such as "links = 1..8"'),
        ({"vary": ["links = 8..1"]}, "vary: links: 8..1: expected values"),
        ({"vary": ["links = 1, 1"]}, "vary: links: 1: is there twice"),
        ({"vary": ["links = 0"]}, "vary: links: 0: expected a whole number from 1 on"),
        ({"vary": ["distance = 3mi"]}, 'vary: distance: 3mi: expected a length, such as "1000km"'),
        ({"vary": ["links = 1..2", "links = 1..2"]}, "vary: links: is there twice"),
        ({"vary": ["links = 1..64", "load = 0.1, 0.2"]}, "cost: is missing; 2 variables need an expression of links and load"),
        ({"vary": ["links = 1..64"], "along": "links = 1, 2"}, "along: links: is searched already"),
        ({"vary": ["links = 1..2"], "cost": "buffer"}, "cost: buffer: is not varied; there is links"),
        ({"until": None}, 'until: is missing; expected what must hold, such as --until "p99 slowdown <= 3"'),
        ({"until": ["p99 slowdown <= 0.5"]}, "until: p99 slowdown <= 0.5: nothing can hold it"),
        ({"until": ["goodput >= 90 %"]}, "until: goodput >= 90 % of the best: there is no best one to compare with"),
        ({"survive": -1}, "survive: -1: expected a whole number from 0 to 64"),
        ({"seeds": 0}, "seeds: 0: expected a whole number from 1 to 100"),
        ({"screen": "rates"}, "screen: 'rates': expected fluid or none"),
        ({"budget": "soon"}, "budget: soon: expected a time"),
        ({"along": "switch.kmin"}, "along: switch.kmin: expected a name and its values"),
    ],
)  # fmt: skip
def test_wrong_questions(arguments, said):
    with pytest.raises(FarloopError) as error:
        asked(**arguments)
    assert str(error.value).startswith(said), str(error.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("vari = 1", "p.toml:4: vari: unknown key; did you mean vary?"),
        ("seeds = 0", "p.toml:4: seeds: 0: expected a whole number from 1 to 100"),
        ('along = { distance = "1km", links = "1" }', "p.toml:4: along: expected one variable with its values"),
        ("set = 3", "p.toml:4: set: expected a table of settings"),
        ("set = { run.duratio = 3 }", "p.toml:4: set.run.duratio: unknown key"),
        ('cost = "links +"', "p.toml:4: cost: links +: is no expression"),
    ],
)
def test_wrong_files_name_their_line(tmp_path, monkeypatch, line, said):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SITES)
    Path("p.toml").write_text(
        f'scenario = "s.toml"\nvary = {{ links = "1..2" }}\nuntil = ["p99 slowdown <= 3"]\n{line}\n'
    )
    with pytest.raises((FarloopError, farloop.ScenarioError)) as error:
        capacity_question.read("p.toml")
    assert str(error.value).startswith(said), str(error.value)


def test_variables_need_what_they_vary():
    with pytest.raises(FarloopError, match=r'links: topology "dumbbell" has no network.wan_links'):
        asked(
            SITES.partition("[network]")[0]
            + '[network]\ntopology = "dumbbell"\n[algorithm]\nname = "swift"\n[workload]\nsizes = "50kB"\n'
        )
    resolved = farloop.Scenario.from_text(SITES).resolved
    made = {name: variables.make_variable(name, values, "vary").settings(values[0], resolved) for name, values in {
        "links": ["2"], "wan_rate": ["5Gbps"], "distance": ["204.19km"], "buffer": ["3MB"], "oversubscription": ["2"], "load": ["0.3"],
    }.items()}  # fmt: skip
    assert made == {
        "links": {"network.wan_links": "2"},
        "wan_rate": {"network.wan_rate": "5Gbps"},
        "distance": {"network.wan_delay": "1000000000ps"},
        "buffer": {"wan_switch.buffer": "3MB"},
        "oversubscription": {"network.fabric_rate": "2000000000bps"},
        "load": {"workload.load": "0.3"},
    }


@pytest.mark.parametrize("file", sorted((ROOT / "examples" / "plans").glob("*.toml")), ids=lambda file: file.stem)
def test_examples_are_read(file):
    if file.stem != "sites":
        assert capacity_question.read(file).options
