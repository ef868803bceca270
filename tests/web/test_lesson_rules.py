"""Rules of lessons, and what the page refuses to be built with, without a browser."""

import importlib.util
import json
import shutil
import subprocess
from typing import Any

import pytest
from support.browser import REPOSITORY

PAGE = REPOSITORY / "crates" / "web" / "page"
SCRIPT = REPOSITORY / "scripts" / "build_playground.py"


def judged(rule: dict[str, Any], *runs: dict[str, float]) -> Any:
    """What lesson.js makes of runs with these numbers."""
    code = (
        f"const measured = (run) => new Map(Object.entries(run));\n{(PAGE / 'lesson.js').read_text('utf-8')}\n"
        f"const runs = {json.dumps(runs)}.map((digest) => ({{ digest }}));\n"
        f"console.log(JSON.stringify(judgeRuns({json.dumps(rule)}, runs)?.right ?? null));"
    )
    done = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


RATIO = {"of": {"measure": "a", "run": 1}, "over": {"measure": "a"}, "bands": [0.8, 1.25]}


@pytest.mark.skipif(shutil.which("node") is None, reason="node is missing")
@pytest.mark.parametrize(
    ("first", "second", "right"),
    [
        (10.0, 7.9, 0),
        (10.0, 8.0, 1),
        (10.0, 12.4, 1),
        (10.0, 12.5, 2),
        (0.0, 1.0, 2),
        (1.0, 0.0, 0),
        (0.0, 0.0, None),
    ],
)
def test_an_answer_is_right_within_its_limits(first: float, second: float, right: int | None):
    assert judged(RATIO, {"a": first}, {"a": second}) == right


@pytest.mark.skipif(shutil.which("node") is None, reason="node is missing")
def test_runs_without_the_numbers_judge_nothing():
    assert judged(RATIO, {"a": 1.0}) is None
    assert judged(RATIO, {"a": 1.0}, {"b": 1.0}) is None
    assert judged({"of": {"measure": "a"}, "bands": [1, 100]}, {"a": 0.0}) == 0


@pytest.fixture(scope="module")
def builder():
    spec = importlib.util.spec_from_file_location("build_playground", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_lessons_and_each_fits_the_page(builder):
    listed = builder.lessons()
    assert 6 <= len(listed) <= 8
    assert len({lesson["id"] for lesson in listed}) == len(listed)
    assert all(len(lesson["answers"]) == 3 for lesson in listed)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"preset": "three-flows"}, "preset: three-flows: no such preset"),
        ({"rule": {"of": {"measure": "speed"}, "bands": [1, 2]}}, "rule: speed: measures.json has no such measure"),
        (
            {"rule": {"of": {"measure": "jain", "run": 1}, "bands": [1, 2]}},
            "rule: run 1: the lesson has 1 runs, counted from 0",
        ),
        (
            {"rule": {"of": {"measure": "jain"}, "bands": [2, 1]}},
            "rule: bands: expected rising limits, one fewer than answers",
        ),
        (
            {"rule": {"of": {"measure": "jain"}, "bands": [1]}},
            "rule: bands: expected rising limits, one fewer than answers",
        ),
        ({"change": {"key": "run.seed", "text": "x"}}, "change: run.seed: is none of the controls of its run"),
        ({"page": "docs/guides/nothing.html"}, "page: docs/guides/nothing.html: docs/guides/nothing.md is not there"),
        ({"right": 1}, "right: missing or unknown key; expected answers, "),
    ],
)
def test_a_lesson_that_the_page_cannot_show_is_refused(builder, change: dict[str, Any], problem: str):
    lesson = json.loads((PAGE / "lessons.json").read_text("utf-8"))[0] | change
    assert builder.problem_of(
        lesson, {"two-flows"}, {"jain", "flow_throughput/mean/cross", "flow_throughput/mean/intra"}
    ).startswith(problem)
