"""A network that PFC brings to a standstill is a result, and everybody is told."""

from pathlib import Path

import pytest

import farloop

RING = """\
run.duration = "2ms"
network.topology = "links"
algorithm.name = "fixed"
switch = {{ buffer = "1MB", xoff = "20kB" }}
{nodes}
"""


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """Five switches in a ring; every host sends two switches further, clockwise."""
    parts = []
    for i in range(5):
        parts += [
            f'[[node]]\nname = "{name}"\nkind = "{kind}"\ndatacenter = 0'
            for name, kind in ((f"s{i}", "switch"), (f"h{i}", "host"))
        ]
        parts += [f'[[link]]\na = "s{i}"\nb = "{b}"\ndelay = "1us"' for b in (f"h{i}", f"s{(i + 1) % 5}")]
        parts.append(f'[[flow]]\nfrom = "h{i}"\nto = "h{(i + 2) % 5}"')
    path = tmp_path / "ring.toml"
    path.write_text(RING.format(nodes="\n".join(parts)), encoding="utf-8")
    return path


def test_a_deadlock_is_in_the_results(ring):
    run = farloop.run(ring)
    (deadlock,) = run.info["deadlocks"]
    assert deadlock.startswith("PFC deadlock since 0.0")
    for i in range(5):
        assert f"s{i}->s{(i + 1) % 5}" in deadlock
    assert "10 ports are blocked" in deadlock
    pauses = run.pauses.to_pylist()
    assert sum(row["pauses"] for row in pauses) == sum(run.ports["pauses"].to_pylist())
    assert {(row["node"], row["peer"]) for row in pauses} >= {(f"s{i}", f"s{(i + 1) % 5}") for i in range(5)}


def test_the_command_and_the_report_say_so(ring, command):
    done = command("run", str(ring), "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "PFC deadlock since" in done.stdout
    assert "PFC deadlock since" in (command.directory / "out" / "report.html").read_text(encoding="utf-8")


def test_other_runs_have_none(result):
    assert result.info["deadlocks"] == []
    assert result.pauses.num_rows == len(
        set(zip(*(result.pauses[c].to_pylist() for c in result.pauses.column_names[:6]), strict=True))
    )
