"""Pauses and deadlocks in every output."""

import json
import re

import pyarrow as pa
import pytest
from support.pages import parsed

import farloop
from farloop.results import pfc
from farloop.results.run import FigureVerdicts
from farloop.views.report import page as report
from farloop.views.report.index import index_page

HEAD = """\
[run]
duration = "{duration}"
[algorithm]
name = "fixed"
[switch]
buffer = "1MB"
xoff = "20kB"
[network]
topology = "links"
"""


def network(name, links, flows, duration="500us"):
    """Nodes whose names begin with s are switches, all others hosts; links and flows are written "a b"."""
    text = f'title = "{name}"\n' + HEAD.format(duration=duration)
    for node in dict.fromkeys(" ".join(links).split()):
        kind = "switch" if node.startswith("s") else "host"
        text += f'[[node]]\nname = "{node}"\nkind = "{kind}"\ndatacenter = 0\n'
    for pair in links:
        a, b = pair.split()
        text += f'[[link]]\na = "{a}"\nb = "{b}"\ndelay = "1us"\n'
    for pair in flows:
        a, b = pair.split()
        text += f'[[flow]]\nname = "{a}-{b}"\nfrom = "{a}"\nto = "{b}"\nsize = "100MB"\n'
    return text


# h0 and h2 send to d at s2, which takes half of that; v at s0 has a free path, but for the queue at s0.
SPREADING = network(
    "Spreading", ["h0 s0", "h1 s1", "h2 s2", "s0 s1", "s1 s2", "d s2", "v s0"], ["h0 d", "h2 d", "v h1"]
)

# Each host sends two switches further, clockwise, which is the only shortest path: a cycle of buffers that wait for each other.
RING = network(
    "Ring",
    [f"h{i} s{i}" for i in range(5)] + [f"s{i} s{(i + 1) % 5}" for i in range(5)],
    [f"h{i} h{(i + 2) % 5}" for i in range(5)],
    "3ms",
)


def run(text, directory):
    path = directory / "network.toml"
    path.write_text(text, encoding="utf-8")
    return farloop.run(path)


@pytest.fixture(scope="module")
def spreading(tmp_path_factory):
    return run(SPREADING, tmp_path_factory.mktemp("spreading"))


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    return run(RING, tmp_path_factory.mktemp("ring"))


def compared(result):
    return farloop.Comparison("title", [result])


def test_totals(spreading):
    totals = spreading.summary["pfc"]
    rows = spreading.pauses.to_pylist()
    assert totals["pauses"] == sum(r["pauses"] for r in rows) > 0
    assert totals["paused"] == pytest.approx(sum(r["paused_ps"] for r in rows) / 1e12)
    assert (totals["victims"], totals["depth"], totals["deadlocks"]) == (1, 3, 0)
    # s0->s1 is a root, too: while s1 does not pause it, two senders share it.
    assert totals["roots"] == 2


def test_the_tree_leads_from_the_congested_port_to_the_hosts(spreading):
    trees = pfc.trees(spreading.pauses)
    assert sum(len(branches) for _, branches in trees) == spreading.pauses.num_rows, "every pause stands in one tree"
    assert all(b.attached for _, branches in trees for b in branches)
    root, branches = trees[0]
    assert root == "s2->d", "the longest pauses come first"
    path, paths = [root], {}
    for branch in branches:
        path[branch.level :] = [branch.pause.port]
        assert branch.pause.cause == path[branch.level - 1]
        paths[branch.pause.port] = tuple(path)
    assert paths["v->s0"] == ("s2->d", "s1->s2", "s0->s1", "v->s0")
    assert paths["h2->s2"] == ("s2->d", "h2->s2")


def pauses(*rows):
    keys = ("node", "peer", "cause_node", "cause_peer", "root_node", "root_peer", "depth", "pauses", "paused_ps")
    cells = [[*" ".join(ports).replace("->", " ").split(), depth, 1, 10 - i] for i, (*ports, depth) in enumerate(rows)]
    return pa.table({key: [row[i] for row in cells] for i, key in enumerate(keys)})


def test_cycles_end_and_lose_nothing():
    cycle = pauses(("a->b", "b->c", "r->x", 2), ("b->c", "c->a", "r->x", 3), ("c->a", "a->b", "r->x", 4))
    ((root, branches),) = pfc.trees(cycle)
    assert root == "r->x"
    assert [(b.level, b.pause.port, b.attached) for b in branches] == [
        (1, "a->b", False),
        (2, "c->a", True),
        (3, "b->c", True),
    ]


def test_a_port_paused_for_two_reasons_spreads_once():
    both = pauses(
        ("a->b", "b->x", "b->x", 1),
        ("a->b", "b->y", "b->x", 2),
        ("b->y", "y->z", "b->x", 1),
        ("h->a", "a->b", "b->x", 2),
    )
    ((_, branches),) = pfc.trees(both)
    assert len(branches) == 4
    assert [b.pause.port for b in branches].count("h->a") == 1


def test_the_report_shows_who_paused_whom(spreading):
    page = report.page(compared(spreading))
    assert 'id="pfc"' in page
    assert '<h3 id="pfc">' in page
    assert "<td>v-&gt;s0</td><td>s0</td><td>s0-&gt;s1</td><td>s2-&gt;d</td><td>3</td>" in page
    assert "1 victim flow (v-h1)" in page
    tree = page[page.index('<ul class="tree">') :]
    tree = tree[: tree.index("</details>")]
    assert tree.count("<ul") == tree.count("</ul>")
    assert tree.count("<li") == tree.count("</li>") == spreading.pauses.num_rows + 2
    assert "deadlock" not in page.partition("<h2")[0], "no alert about one"


def test_without_pauses_there_is_no_section(result):
    assert result.summary["pfc"]["depth"] == 0
    page = report.page(compared(result))
    assert 'id="pfc"' not in page
    assert all(link != "#pfc" for link in parsed(page).links)


def test_a_large_table_is_cut_with_a_note(spreading, monkeypatch):
    monkeypatch.setattr("farloop.views.report.pfc.MAX_ROWS", 2)
    page = report.page(compared(spreading))
    assert page.count(f"2 of {spreading.pauses.num_rows}; all are in pauses.parquet.") == 2
    tree = page[page.index('<ul class="tree">') :]
    tree = tree[: tree.index("</details>")]
    assert tree.count("<li") == tree.count("</li>") == 3


def test_a_deadlock_is_a_finding_and_loud(command):
    (command.directory / "ring.toml").write_text(RING, encoding="utf-8")
    done = command("run", "ring.toml", "--out", "r", "--no-report")
    assert done.returncode == 0, "the network deadlocks, the simulation is sound"
    (line,) = [text for text in done.stdout.splitlines() if "deadlock" in text]
    assert line.startswith("fixed: PFC deadlock since ")
    assert line.endswith("s0->s1, s1->s2, s2->s3, s3->s4, s4->s0 wait for each other; 10 ports are blocked")
    manifest = json.loads((command.directory / "r" / "manifest.json").read_text())
    assert [f"fixed: {text}" for text in manifest["deadlocks"]] == [line]
    assert json.loads((command.directory / "r" / "summary.json").read_text())["pfc"]["deadlocks"] == 1


def test_a_deadlock_stands_above_all_tables(ring):
    page = report.page(compared(ring))
    assert page.index('<p class="card alert">fixed: PFC deadlock') < page.index('id="answer"')
    assert "PFC deadlock" in ring._repr_html_()
    assert "PFC deadlock" in index_page([FigureVerdicts.from_comparison("paper/figure", compared(ring))], "quick")


def test_too_little_headroom_names_ports_and_packets(command):
    text = network("Incast", ["h0 s0", "h1 s0", "d s0"], ["h0 d", "h1 d"]).replace(
        "[switch]\n", '[switch]\nheadroom = "4kB"\n'
    )
    (command.directory / "incast.toml").write_text(text, encoding="utf-8")
    result = command("run", "incast.toml", "--out", "r")
    assert result.returncode == 1
    lost = re.findall(r"(\d+) packets that entered s0 from (h\d)", result.stderr)
    assert [host for _, host in lost] == ["h0", "h1"]
    assert all(int(packets) > 0 for packets, _ in lost)
    assert "lossless: dropped for lack of headroom" in result.stderr
    assert not (command.directory / "r").exists()
