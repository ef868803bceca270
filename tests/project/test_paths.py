"""Files that pages and configuration name are there."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`([\w][\w./-]*\.(?:rs|py|pyi|c|h|cc|cpp|toml|md|sh))`")
"""A file in backticks, from the root or from anywhere below it: `port/mod.rs`."""

PATTERN = re.compile(r"(?<![\w/.-])((?:crates|docs|examples|linux|python|scripts|spec|tests|validation)/[\w./*-]+)")
"""A path from the root in a file of settings, globs included."""

SETTINGS = (
    "Makefile", "Cargo.toml", "pyproject.toml", "mkdocs.yml", "deny.toml", "Containerfile", ".ci/run", ".pre-commit-config.yaml",
    ".github/workflows/ci.yml",
)  # fmt: skip
PLACES = ("PAPER", "FIGURE", "my_vegas", "my-vegas")
"""Parts of names that stand for the reader's own."""

FOREIGN = {
    # ns-3 of HPCC, of AccelToR and of THEMIS
    "switch-node.cc",
    "rdma-hw.cc", "third.cc", "run.py", "scratch-FTwarmup.cc", "scratch-FTalltor.cc", "scratch-FTsinglequeue.cc", "FatTreeHelper.cc",
    "Ipv4EpsRouting.cc", "Ipv4EpsRouting.h", "tcp-socket-base.cc",
    # Linux, and published modules
    "sch_netem.c", "tcp_bbr.c", "tcp_bic.c", "tcp_cong.c", "tcp_dctcp.c", "tcp_vegas.c", "tcp_yeah.c", "conn.c", "cubic.c", "gemini.h",
    "gemini-gear.h",
    # NCCL
    "tuning.cc", "enqueue.cc",
    # archives of outputs
    "rerun.sh",
    # uet-htsim, Uno, LCMP and others that transports of many paths cite
    "bbr.cpp", "dci-switch-node.cc",
    "buffer_reps.cpp", "common.cpp", "compositequeue.cpp", "fig8_comparison.py", "fig10_99.py", "fig10_avg.py", "fig11.py",
    "gemini.cpp", "lcp.cpp", "main_lcp_entry_modern.cpp", "oversubscribed_cc.cpp", "sc25_fig10_realistic_60_load.sh", "sc25_fig11.sh",
    "tcp_plb.c", "uec.cpp", "uec.h", "uec_mp.cpp",
    # what a tutorial has its reader write
    "two-flows.toml", "mine.toml",
}  # fmt: skip
"""Files of other programs that pages cite."""


WRITTEN = ("python/farloop/build.json", "python/farloop/kernel/objects")
"""What `make build` and `make kernel` write: it is not there in a fresh clone."""


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()


def test_files_that_pages_name_are_there():
    files = tracked()
    known = {"/".join(parts[i:]) for parts in (file.split("/") for file in files) for i in range(len(parts))}
    missing = [
        f"{page}:{number}: {name}"
        for page in files
        if page.endswith(".md")
        for number, line in enumerate((ROOT / page).read_text("utf-8").splitlines(), 1)
        for name in NAMED.findall(line)
        if name.replace("../", "") not in known
        and name.rpartition("/")[2] not in FOREIGN
        and not any(place in name for place in PLACES)
    ]
    assert not missing


def test_paths_in_settings_lead_somewhere():
    named = [
        (page, path.rstrip("./"))
        for page in SETTINGS
        for line in (ROOT / page).read_text("utf-8").splitlines()
        for path in PATTERN.findall(line.partition(" #")[0])
    ]
    assert len(named) > 20
    assert not [(page, path) for page, path in named if not path.startswith(WRITTEN) and not any(ROOT.glob(path))]


def test_the_network_model_names_files_of_the_network():
    """Other crates have files of the same names, which must not pass for those that are gone here."""
    roots = ("crates/net/src/", "crates/network/src/")
    here = {file.removeprefix(root) for file in tracked() for root in roots if file.startswith(root)}
    folders = {""} | {name.rpartition("/")[0] + "/" for name in here if "/" in name}
    text = (ROOT / "docs" / "network-model.md").read_text("utf-8")
    named = {
        name for name in NAMED.findall(text) if name.endswith(".rs") and not name.startswith(("crates/", "engine/"))
    }
    assert len(named) > 20
    assert not {name for name in named if not any(folder + name in here for folder in folders)}
