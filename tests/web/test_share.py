"""Links of the playground, and the commands that it shows to copy, without a browser."""

import json
import shlex
import shutil
import subprocess
from typing import Any

import pytest
from support.browser import REPOSITORY

PAGE = REPOSITORY / "crates" / "web" / "page"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is missing")


def run(expression: str, **values: Any) -> Any:
    """The value of an expression of JavaScript behind share.js; what it promises is awaited."""
    names = "".join(f"const {name} = {json.dumps(value)};\n" for name, value in values.items())
    code = f"{(PAGE / 'share.js').read_text('utf-8')}\n{names}(async () => console.log(JSON.stringify(await ({expression}) ?? null)))();"
    done = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def variants(count: int) -> list[dict[str, Any]]:
    return [{"name": f"v{number}", "set": {"run.seed": str(number)}} for number in range(count)]


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({}, True),
        ({"variants": variants(2)}, True),
        ({"variants": []}, False),
        ({"variants": variants(2000)}, False),
        ({"variants": "two"}, False),
        ({"variants": [{"name": "a", "set": {"run.seed": 1}}]}, False),
        ({"algorithms": []}, False),
        ({"algorithms": ["dctcp"] * 2000}, False),
        ({"algorithms": [1]}, False),
        ({"text": 5}, False),
    ],
)
def test_a_link_has_a_state_that_the_page_can_show_or_none(change: dict[str, Any], kept: bool):
    state = {"text": "[run]", "algorithms": ["dctcp"]} | change
    assert run("packed(state).then((link) => unpacked(link))", state=state) == (state if kept else None)


HOSTILE = ["dctcp", "a b", "$(touch x)", "`id`", "it's", 'say "so"', "a;b", "a&&b", "a\nb", "~root", "*", "!!", "\\"]


@pytest.mark.sampled
@pytest.mark.parametrize("name", HOSTILE)
def test_a_shell_reads_commands_as_they_are_meant(name: str):
    bare = name.replace('"', "")
    alone = run("inTheShell([name])", name=name)
    assert shlex.split(alone)[3:] == ["--set", f"algorithm.name={name}", "--out", "out/run"]
    two = run("inTheShell([name, 'hpcc'])", name=name)
    assert shlex.split(two)[4] == f"{name},hpcc"
    several = run("inTheShell(['hpcc'], [{name: 'v', set: {[name]: name}}])", name=name)
    assert shlex.split(several)[3:7] == ["--set", "algorithm.name=hpcc", "--set", f"{name}={bare}"]


@pytest.mark.parametrize("name", HOSTILE)
def test_python_reads_what_is_meant(name: str):
    text = run("inPython([name, name])", name=name)
    assert repr([name, name]) in repr(eval(text.splitlines()[2].partition('"scenario.toml", ')[2].removesuffix(")")))
