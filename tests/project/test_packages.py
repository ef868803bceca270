"""What packages say of themselves, what is in them, and what a shell completes; `make wheels` builds and tries them."""

import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import farloop
from farloop.commands import build_facts

pytestmark = pytest.mark.site

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def packaging(monkeypatch):
    monkeypatch.syspath_prepend(str(REPOSITORY / "scripts"))
    return importlib.import_module("build_packages")


def test_the_version_tells_what_was_built_from_what(command):
    said = command("--version").stdout.splitlines()
    assert said[0] == f"farloop {farloop.__version__}"
    facts = dict(line.split(None, 1) for line in said[1:])
    assert set(facts) == {"source", "compiled", "rustc", "target", "features", "kernel", "python"}
    # The module that ships, or what `make test` builds where that is not up to date.
    assert re.match("profile (release|quick), optimisation 3, link-time optimisation ", facts["compiled"])
    assert re.match(r"\d+\.\d+", facts["rustc"])
    assert f"CPython {sys.version.split()[0]}" in facts["python"]
    head = subprocess.run(["git", "-C", REPOSITORY, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    if head.returncode == 0:
        assert head.stdout[:12] in facts["source"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"commit": "0123456789abcdef", "changed": false, "from": "wheel"}', "wheel, commit 0123456789ab"),
        ('{"commit": "0123", "changed": true, "from": "wheel"}', "wheel, commit 0123 with changes"),
        ('{"commit": "", "from": "container"}', "container, unknown commit"),
        ("not JSON", "sources of an unknown commit"),
        (None, "sources of an unknown commit"),
    ],
)
def test_packages_know_their_commit(content, said, tmp_path, monkeypatch):
    monkeypatch.setattr(build_facts, "PACKAGE", tmp_path / "site-packages" / "farloop")
    build_facts.PACKAGE.mkdir(parents=True)
    if content is not None:
        (build_facts.PACKAGE / build_facts.BUILD).write_text(content)
    assert build_facts.source() == said


def test_an_installation_from_a_repository_knows_its_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(build_facts, "PACKAGE", tmp_path)
    vcs = {"url": "https://example.org/farloop", "vcs_info": {"vcs": "git", "commit_id": "89abcdef01234567"}}
    monkeypatch.setattr(build_facts.metadata.PathDistribution, "read_text", lambda *_: json.dumps(vcs))
    assert build_facts.source() == "git, commit 89abcdef0123"


class Sources:
    """What a wheel of two files would be made from."""

    directory = Path("/nowhere/to/be/found")

    def package(self):
        return {"farloop/__init__.py": b"", "farloop/spec/gear.md": b"# Gear\n"}


def wheel(tmp_path, packaging, **changes):
    """A wheel of these sources; a change of content `None` leaves a file out."""
    info = "farloop-1.dist-info"
    written = {f"{info}/{name}": b"x" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    licences = {f"{info}/licenses/{name}": b"x" for name in ("LICENSE-APACHE", "LICENSE-MIT", packaging.CRATES)}
    files = Sources().package() | written | licences | {"farloop/_native.abi3.so": b"machine code"} | changes
    path = tmp_path / "farloop-1-cp311-abi3-manylinux_2_17_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            if content is not None:
                archive.writestr(name, content)
    return path


def test_a_wheel_that_has_what_it_should_is_accepted(tmp_path, packaging):
    said = packaging.check_wheel(wheel(tmp_path, packaging), Sources())
    assert "1 pages of the specification" in said[1]
    assert "3 licences" in said[1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"farloop/spec/gear.md": None}, "lacks: farloop/spec/gear.md"),
        ({"farloop-1.dist-info/licenses/LICENSE-MIT": None}, "lacks: farloop-1.dist-info/licenses/LICENSE-MIT"),
        ({"tests/commands/test_cli.py": b""}, "has besides: tests/commands/test_cli.py"),
        ({"farloop/_native.cpython-311.so": b""}, "has besides: farloop/_native.cpython-311.so"),
        ({"farloop/__init__.py": b"1"}, "farloop/__init__.py: is something else than git has"),
        ({"farloop/_native.abi3.so": b"at /nowhere/to/be/found/crates"}, "contains the path /nowhere"),
    ],
)
def test_a_wheel_that_has_not_is_refused(changes, said, tmp_path, packaging):
    with pytest.raises(packaging.RefusedError, match=re.escape(said)):
        packaging.check_wheel(wheel(tmp_path, packaging, **changes), Sources())


def test_what_is_compiled_in_from_elsewhere_is_in_the_source_distribution():
    said = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["maturin"]["include"]
    patterns = [entry["path"] for entry in said if "sdist" in entry["format"]]
    outside = set()
    for source in REPOSITORY.glob("crates/*/src/**/*.rs"):
        for name in re.findall(r'include_(?:str|bytes)!\("(\.\./[^"]+)"\)', source.read_text("utf-8")):
            path = (source.parent / name).resolve().relative_to(REPOSITORY.resolve())
            if path.parts[0] != "crates":
                outside.add(path)
    assert outside
    assert [str(path) for path in sorted(outside) if not any(path.match(pattern) for pattern in patterns)] == []


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_words(shell):
    asked = {"_FARLOOP_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "farloop explain gemi"}
    done = subprocess.run(
        [sys.executable, "-c", "from farloop.__main__ import main; main()"],
        env=os.environ | asked | {"_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {"gemini", "gemini-gear"} <= set(re.findall(r"[\w-]+", done.stdout))


def test_the_container_compiles_with_the_toolchain_of_the_checkout():
    toolchain = tomllib.loads((REPOSITORY / "rust-toolchain.toml").read_text("utf-8"))["toolchain"]["channel"]
    steps = (REPOSITORY / "Containerfile").read_text("utf-8")
    assert f"ENV RUSTUP_TOOLCHAIN={toolchain}\n" in steps
    assert f"rust:{toolchain.rpartition('.')[0]}-slim" in steps
    # What it copies, and what it calls, is there.
    copied = re.findall(r"^COPY (?!--from)(\S+) ", steps, re.MULTILINE)
    assert copied
    assert all((REPOSITORY / name).exists() for name in copied)


def test_commands_of_the_build_read_nothing_of_the_shell(packaging, monkeypatch):
    """In the background of a shell, rustc would take what the shell reads for a program."""
    read, write = os.pipe()
    os.write(write, b"words of the shell\n")
    os.close(write)
    before = os.dup(0)
    os.dup2(read, 0)
    try:
        assert packaging.run(["cat"]) == ""
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(read)
