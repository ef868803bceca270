"""How training jobs slow one another down: alone, in pairs, all together; in Python and on the command line."""

import json

import pytest

import farloop
from farloop.results.job_matrix import ALL, Interference

TWO_RACKS = """
run.duration = "10s"
algorithm.name = "dcqcn"
record.interval = "none"
[network]
topology = "spine-leaf"
leaves = 2
spines = 1
hosts_per_leaf = 4
rate = "10Gbps"
fabric_rate = "10Gbps"
"""

JOB = """
[[job]]
name = "{name}"
model = "llama3-8b"
layers = 1
tokens = 64
data = 2
microbatches = 1
scale = 1024
hosts = {hosts}
"""
ACROSS = JOB.format(name="across", hosts='["h1", "h5"]')
ALSO = JOB.format(name="also", hosts='["h2", "h6"]')
APART = JOB.format(name="apart", hosts='["h3", "h4"]')


def written(tmp_path, *jobs):
    path = tmp_path / "jobs.toml"
    path.write_text(TWO_RACKS + "".join(jobs))
    return path


def test_jobs_that_share_a_link_slow_one_another_down(tmp_path):
    result = farloop.interference(written(tmp_path, ACROSS, ALSO, APART))
    assert result.jobs == ("across", "also", "apart")
    # Both send over one link of the spine in the same direction; the third stays in its rack.
    for job, other in (("across", "also"), ("also", "across")):
        assert 1.3 < result.slowdown(job, other) < 2.5
        assert result.slowdown(job, "apart") == 1
        assert result.slowdown("apart", job) == 1
        assert result.slowdown(job) == pytest.approx(result.slowdown(job, other), rel=0.05)
    assert result.slowdown("apart") == 1
    # The matrix is what runs of such scenarios give.
    alone = farloop.run(written(tmp_path, ALSO)).summary["jobs"]["also"]["rounds_s"]
    assert result.alone["also"] == alone[0]


def test_the_command_prints_a_table_or_json(command, tmp_path):
    written(tmp_path, ACROSS, APART)
    done = command("interference", str(tmp_path / "jobs.toml"), "--json", "--set", "job.across.iterations=2")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["jobs"] == ["across", "apart"]
    assert content["slowdown"] == {"across": {"apart": 1.0, ALL: 1.0}, "apart": {"across": 1.0, ALL: 1.0}}
    assert content["alone_s"]["across"] > 0
    shown = command("interference", str(tmp_path / "jobs.toml"), "--quiet")
    assert shown.returncode == 0
    assert shown.stderr == ""
    assert "beside across" in shown.stdout


@pytest.mark.parametrize(
    ("jobs", "says"),
    [
        ((), "has no [[job]]; expected two or more, which may slow one another down"),
        ((ACROSS,), "has one [[job]], across; expected two or more, which may slow one another down"),
        ((ACROSS, ALSO.replace("layers", "leyers")), ":26: job.also.leyers: unknown key"),
        ((ACROSS, ALSO.replace('"h2"', '"h9"')), ":31: job.also.hosts: "),
    ],
)
def test_what_has_no_matrix_is_refused_in_one_line(command, tmp_path, jobs, says):
    path = written(tmp_path, *jobs)
    done = command("interference", str(path))
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"farloop: {path}")
    assert says in line


def test_what_did_not_end_has_no_slowdown():
    result = Interference(
        "t", ("a", "b"), {"a": 1.0, "b": None}, {"a": {"b": None}, "b": {"a": 2.0}}, {"a": 3.0, "b": 2.0}
    )
    assert (result.slowdown("a", "b"), result.slowdown("b", "a"), result.slowdown("a")) == (None, None, 3)
    _, rows = result.rows()
    assert rows == [["a", "1 s", "", "unfinished", "3"], ["b", "unfinished", "unfinished", "", "unfinished"]]
