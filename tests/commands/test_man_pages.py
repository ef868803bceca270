"""Manual pages: one for each command, with all of its options."""

import re
import shutil
import subprocess

import pytest
from typer.main import get_command

from farloop.commands.app import app


@pytest.fixture(scope="module")
def pages(scripts):
    return dict(scripts("man_pages").pages())


def test_every_command_has_a_page_with_its_options(pages, scripts):
    each = dict(scripts("man_pages").commands(get_command(app)))
    assert set(pages) == {"farloop", *("-".join(["farloop", *words]) for words in each)}
    for words, command in each.items():
        text = pages["-".join(["farloop", *words])]
        assert re.findall(r"^\.SH (.*)$", text, re.MULTILINE)[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"]
        plain = text.replace("\\-", "-")
        for option in command.params:
            for name in option.opts if option.param_type_name == "option" else []:
                assert f"\\fB{name}\\fR" in plain, (words, name)
    assert "farloop plot out/first --kind cdf" in pages["farloop-plot"].replace("\\-", "-")


def test_no_line_of_text_is_taken_for_a_request(pages):
    known = {".TH", ".SH", ".TP", ".PP", ".nf", ".fi", ".B"}
    for name, text in pages.items():
        requests = {line.split()[0] for line in text.splitlines() if line.startswith((".", "'"))}
        assert requests <= known, name


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_takes_every_page(pages):
    for name, text in pages.items():
        done = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-ww"], input=text, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), name
