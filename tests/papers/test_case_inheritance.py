"""Cases that extend others: what is refused, and that the figures' files say each setting once."""

import json
import tomllib
from collections import Counter

import pytest

from farloop.formats.scenario_text import CaseSettings
from farloop.scenario import PAPERS, Scenario, figure_names, kernel_figure_names

SCENARIO = """\
[run]
duration = "1ms"
[network]
[[flow]]
from = "s1"
to = "d1"
[figure]
id = "own/figure"
algorithms = ["dctcp"]
"""

FIGURES = (*figure_names(), *kernel_figure_names())


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        (
            '[template]\nslow = {}\n[[case]]\nname = "a"\nextends = ["slwo"]\n',
            'own.toml:14: case.a.extends: there is no case or template "slwo"; did you mean "slow"? names: "slow"',
        ),
        (
            '[[case]]\nname = "a"\nextends = "b"\n[[case]]\nname = "b"\nextends = "c"\n[[case]]\nname = "c"\nextends = "b"\n',
            'own.toml:18: case.c.extends: leads back to where it began: "b", "c", "b"; '
            "expected names that do not extend this one",
        ),
        (
            '[template]\nslow = { extends = "slow" }\n',
            'own.toml:11: template.slow.extends: leads back to where it began: "slow", "slow"',
        ),
        (
            '[template]\nslow = { set = { "network.rat" = "1Gbps" } }\n[[case]]\nname = "a"\nextends = "slow"\n',
            'own.toml:11: network.rat: unknown key (in case "a"); did you mean "rate"?',
        ),
        (
            "[[case]]\nextends = [1]\n",
            "own.toml:11: case.1.extends: has something else than names; expected the name of",
        ),
    ],
)
def test_what_a_case_cannot_extend_is_refused_at_its_line(command, tmp_path, cases, message):
    file = tmp_path / "own.toml"
    file.write_text(SCENARIO + cases)
    done = command("explain", str(file))
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


def test_the_line_of_a_case_is_found_by_the_names_that_it_extends():
    text = (
        SCENARIO
        + '[template]\nx = {}\ny = {}\n[[case]]\nname = "z"\nextends = "x"\n[[case]]\nextends = [["x", "z"], "y"]\n'
    )
    cases = {case["name"]: CaseSettings.from_text(case, text).line for case in Scenario.from_text(text).parsed["case"]}
    assert cases == {"z": 13, "x, y": 16, "z, y": 16}


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_says_each_setting_once(figure):
    """Up to a few whose repetition is shorter than a template."""
    document = tomllib.loads((PAPERS / f"{figure}.toml").read_text("utf-8"))
    parts = [*document.get("case", []), *document.get("template", {}).values()]
    settings = [(key, json.dumps(value)) for part in parts for key, value in part.get("set", {}).items()]
    repeated = sum(count - 1 for count in Counter(settings).values())
    assert repeated <= 1 + len(parts) / 3, "[template] has what cases have in common"
