"""Who has taken one thing for another, or misspelt it, is told what was meant."""

import pytest
from conftest import SMALL

STUDY = 'collect = ["p99_slowdown"]\nbase = "sites.toml"\n[grid]\nseed = "1-3"\n'


@pytest.fixture
def files(tmp_path):
    (tmp_path / "sites.toml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "site.toml"], "site.toml: no such file; did you mean sites.toml?"),
        (["compare", "site", "--algorithms", "hpcc"], "site: no such file; did you mean sites.toml?"),
        (["sweep", "studdy.toml"], "studdy.toml: no such file; did you mean study.toml? expected a study (TOML)"),
        (["run", "gear/fig9"], "gear/fig9: no such file; did you mean gear/fig09?"),
        (["run", "nowhere.toml"], "expected a scenario file (here: sites.toml, study.toml) or a paper's figure"),
        (["run", "sites.toml", "--algorithm", "dqcqn"], 'there is no algorithm "dqcqn"; did you mean "dcqcn"?'),
        (
            ["compare", "sites.toml", "--algorithms", "hpcc,dqcqn"],
            'farloop: --algorithms: there is no algorithm "dqcqn"',
        ),
        (["run", "sites.toml", "--algorithm", "dqcqn"], 'farloop: --algorithm: there is no algorithm "dqcqn"'),
        (
            ["run", "sites.toml", "--set", "algorithm.name=dqcqn"],
            "farloop: --set: algorithm.name: there is no algorithm",
        ),
        (
            ["why", "nowhere", "f1"],
            "nowhere: no such file; expected the output of a run, such as out/first, a scenario",
        ),
        (["sweep", "sites.toml"], "sites.toml: is a scenario, not a study; `farloop run sites.toml` simulates it"),
        (["run", "study.toml"], "study.toml: is a study, not a scenario; `farloop sweep study.toml` runs it"),
        (["explain", "study.toml"], "study.toml: is a study, not a scenario; `farloop sweep study.toml` runs it"),
        (["compare", "study.toml", "--algorithms", "hpcc"], "study.toml: is a study, not a scenario"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_was_meant(command, files, words, message):
    done = command(*words)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_key_of_a_named_workload_is_shown_with_its_name(command, tmp_path):
    head = SMALL.partition("[[flow]]")[0]
    (tmp_path / "web.toml").write_text(f'{head}[[workload]]\nname = "web"\nload = 0.3\n', encoding="utf-8")
    done = command("run", "web.toml", "--set", "workload.load=0.5")
    assert done.returncode == 2
    assert "--set: workload.load: " in done.stderr
    assert "write workload.web.load" in done.stderr
    assert command("explain", "web.toml", "--set", "workload.web.load=0.5").returncode == 0
