import subprocess
from pathlib import Path

import pytest
from support.checkouts import checkout_in

import farloop
from farloop.new_algorithm import scaffold

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path):
    return checkout_in(tmp_path)


def test_a_new_algorithm_is_a_file_two_lines_and_a_page(checkout):
    inside = checkout / "crates" / "cc"
    source, page, registry = scaffold.create("my-vegas", inside)
    assert source.name == "my_vegas.rs"
    text = source.read_text("utf-8")
    assert 'NAME: &\'static str = "my-vegas"' in text
    assert "pub struct MyVegas;" in text
    assert "@" not in text
    assert page == checkout / "spec" / "my-vegas.md"
    before = (REPOSITORY / scaffold.REGISTRY).read_text("utf-8").splitlines()
    added = [line for line in registry.read_text("utf-8").splitlines() if line not in before]
    assert added == ["pub mod my_vegas;", "    MyVegas = my_vegas::MyVegas,"]


def test_what_it_writes_is_formatted(checkout):
    source, _, registry = scaffold.create("my-vegas", checkout)
    for path in (source, registry):
        config = [
            "--config-path",
            str(REPOSITORY / "rustfmt.toml"),
            "--edition",
            "2024",
            "--config",
            "skip_children=true",
        ]
        done = subprocess.run(
            ["rustfmt", "--check", *config[:4], str(source)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{path}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    "name",
    ["", "Vegas", "my vegas", "my_vegas", "-x", "x-", "9x", "x--y", "é", "../x", "match", "dyn", "registry", "none"],
)
def test_names_that_cannot_be(checkout, name):
    with pytest.raises(farloop.FarloopError):
        scaffold.create(name, checkout)
    assert not (checkout / "spec").exists()


def test_names_that_are_taken(checkout):
    with pytest.raises(farloop.FarloopError, match="explain hpcc"):
        scaffold.create("hpcc", checkout)
    scaffold.create("my-vegas", checkout)
    with pytest.raises(farloop.FarloopError, match="there already"):
        scaffold.create("my-vegas", checkout)


def test_outside_of_a_checkout(tmp_path):
    with pytest.raises(farloop.FarloopError, match="checkout"):
        scaffold.create("my-vegas", tmp_path)
