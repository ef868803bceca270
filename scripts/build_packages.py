#!/usr/bin/env python3
"""Builds the packages that people install: wheels for Linux on x86-64 and aarch64, and a source distribution; `make wheels`.

    scripts/build_packages.py [--out dist] [--only x86_64,aarch64,sdist] [--quick] [--no-try] [--python python3.13]

Sources are what git has of this checkout, copied to a temporary directory, so that nothing else can get into a package. Wheels are
linked by zig against glibc 2.17 (manylinux2014) whatever this machine has; each serves every Python from 3.11 on. What is in a package is
held against what git has; auditwheel reads its tag; then scripts/try_package.py installs and uses it where the repository is not (not
aarch64's, which cannot run here). Paths, times and order depend on the commit alone, so that the same tools give the same bytes. `--quick`
leaves out optimisation at link time, to try this script out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import try_package

ROOT = Path(__file__).resolve().parent.parent

MANYLINUX = "manylinux_2_17"
TARGETS = {machine: f"{machine}-unknown-linux-gnu" for machine in ("x86_64", "aarch64")}
SDIST = "sdist"
KINDS = (*TARGETS, SDIST)

CRATES = "LICENSE-OF-CRATES.txt"
"""In a package: the licences of the crates that are compiled into it."""

BUILD = "python/farloop/build.json"
"""What python/farloop/commands/build_facts.py reads."""

LINKED = ("python/farloop/spec",)
"""Links to directories, whose files packages have."""


class RefusedError(Exception):
    """No package can be made; the text says why, and what would help."""


def run(command: Sequence[str], *, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """What a command prints.

    Raises:
        RefusedError: it fails.
    """
    try:
        done = subprocess.run(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise RefusedError(f"{command[0]}: {error.strerror or error}") from None
    if done.returncode != 0:
        raise RefusedError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Sources:
    """What git has of the checkout, in a directory.

    Attributes:
        directory: Where.
        files: The paths of the files in it.
        commit: The last commit.
        changed: Whether the checkout has changes that are in no commit.
        time: When the commit was made, in seconds.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            self.files = [name for name in run(["git", "ls-files", "-z"]).split("\0") if name]
            self.commit = run(["git", "rev-parse", "HEAD"]).strip()
            self.changed = bool(run(["git", "status", "--porcelain", "--untracked-files=no"]).strip())
            self.time = run(["git", "log", "-1", "--format=%ct"]).strip()
        except RefusedError as error:
            raise RefusedError(f"{ROOT}: packages are built from a checkout by git: {error}") from None
        for name in self.files:
            target = directory / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if not (ROOT / name).exists():
                continue  # removed, and not yet committed
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
            if not target.is_symlink():
                target.chmod(0o755 if os.access(ROOT / name, os.X_OK) else 0o644)
        self.files = [name for name in self.files if (directory / name).exists()]

    def say(self, kind: str) -> None:
        """Writes what `farloop --version` of the package is to say."""
        content = {"commit": self.commit, "changed": self.changed, "from": kind}
        (self.directory / BUILD).write_text(json.dumps(content) + "\n", encoding="utf-8")

    def package(self) -> dict[str, bytes]:
        """The files below python/ that a wheel has, by their path in it; those of linked directories included."""
        names = [name for name in self.files if name.startswith("python/") and not (self.directory / name).is_dir()]
        for link in LINKED:
            place = os.path.normpath(Path(link).parent / (self.directory / link).readlink())
            names += [f"{link}/{Path(name).name}" for name in self.files if Path(name).parent == Path(place)]
        objects = self.directory / "python/farloop/kernel/objects"
        names += [str(path.relative_to(self.directory)) for path in objects.glob("*.bpf.o")]
        return {name.removeprefix("python/"): (self.directory / name).read_bytes() for name in [*names, BUILD]}

    def compile_kernel_programs(self) -> str:
        """Compiles what the Linux kernel runs, where that can be done here; what to say of it."""
        try:
            run(["make", "kernel"], cwd=self.directory)
        except RefusedError as error:
            return f"without programs for the kernel: {str(error).strip().splitlines()[-1]}"
        return "with programs for the kernel"

    def collect_licences(self) -> None:
        """Writes the licences of all crates that are linked into the module."""
        metadata = json.loads(run(["cargo", "metadata", "--format-version=1", "--locked"], cwd=self.directory))
        tree = "cargo tree --locked -p farloop-py -e normal,no-proc-macro --target all --prefix none --format {p}"
        listed = run(tree.split(), cwd=self.directory)
        linked = {tuple(line.split()[:2]) for line in listed.splitlines() if line}
        parts = ["Licences of the crates that are compiled into farloop._native, beside farloop's own.\n"]
        for crate in sorted(metadata["packages"], key=lambda crate: (crate["name"], crate["version"])):
            if crate["source"] is None or (crate["name"], f"v{crate['version']}") not in linked:
                continue
            place = Path(crate["manifest_path"]).parent
            texts = [
                path
                for path in sorted(place.glob("*"))
                if re.match(r"(?i)licen[cs]e|copying|notice|unlicense", path.name)
            ]
            parts.append(
                f"{'=' * 80}\n{crate['name']} {crate['version']}: {crate['license'] or crate['license_file']}\n"
            )
            parts += [f"{'-' * 80}\n{path.read_text('utf-8', 'replace').strip()}\n" for path in texts if path.is_file()]
        (self.directory / CRATES).write_text("\n".join(parts), encoding="utf-8")

    def environment(self, *, quick: bool) -> dict[str, str]:
        """What the compiler is told, so that neither this machine's paths nor the time get into what it writes."""
        home = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
        flags = [f"--remap-path-prefix={self.directory}=farloop", f"--remap-path-prefix={home}=cargo"]
        programs = Path(sys.executable).parent
        return (
            os.environ
            | {
                "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
                "SOURCE_DATE_EPOCH": self.time,
                "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
                "CARGO_TARGET_DIR": str(ROOT / "target" / "packages"),
                "CARGO_INCREMENTAL": "0",
            }
            | ({"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"} if quick else {})
        )


def missing(machine: str) -> str:
    """What lacks for a wheel for a kind of machine, with how to get it; empty where nothing does."""
    try:
        there = run(["rustc", "--print", "target-libdir", "--target", TARGETS[machine]]).strip()
    except RefusedError:
        there = ""
    if not any(Path(there).glob("libstd-*")) if there else True:
        return f"Rust's library for {machine}: rustup target add {TARGETS[machine]}"
    try:
        run([sys.executable, "-m", "ziglang", "version"])
    except RefusedError:
        return "zig: pip install --require-hashes -r requirements/packages.txt"
    return ""


def build_wheel(sources: Sources, machine: str, out: Path, environment: Mapping[str, str]) -> Path:
    """Builds the wheel for a kind of machine."""
    sources.say("wheel")
    command = ["build", "--release", "--locked", "--zig", "--target", TARGETS[machine], "--compatibility", MANYLINUX]
    return _maturin(sources, command, out, environment)


def build_sdist(sources: Sources, out: Path, environment: Mapping[str, str]) -> Path:
    """Builds the source distribution."""
    sources.say("source distribution")
    return _maturin(sources, ["sdist"], out, environment)


def _maturin(sources: Sources, command: Sequence[str], out: Path, environment: Mapping[str, str]) -> Path:
    with tempfile.TemporaryDirectory() as name:
        run([sys.executable, "-m", "maturin", *command, "--out", name], cwd=sources.directory, env=environment)
        (made,) = Path(name).iterdir()
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(made, out / made.name))


def check_wheel(wheel: Path, sources: Sources) -> list[str]:
    """Holds what a wheel has against what git has; lines that say what it has.

    Raises:
        RefusedError: something lacks, is there and should not be, or is something else than git has.
    """
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
    expected = sources.package()
    (info,) = {name.partition("/")[0] for name in files if name.partition("/")[0].endswith(".dist-info")}
    written = {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    licences = {f"{info}/licenses/{name}" for name in ("LICENSE-APACHE", "LICENSE-MIT", CRATES)}
    module = {"farloop/_native.abi3.so"}
    # Newer versions of maturin list the crates in a form for programs.
    lists = {name for name in files if re.fullmatch(rf"{re.escape(info)}/sboms/[\w.-]+\.json", name)}
    _hold(wheel, set(files), {*expected, *written, *licences, *module}, lists)
    differing = [name for name, content in expected.items() if files[name] != content]
    if differing:
        raise RefusedError(f"{wheel.name}: {', '.join(differing[:5])}: is something else than git has")
    inside = files["farloop/_native.abi3.so"]
    for path in (str(sources.directory), str(Path.home()), str(ROOT)):
        if path.encode() in inside:
            raise RefusedError(f"{wheel.name}: the module contains the path {path} of this machine")
    kinds = {
        "modules of Python": r"farloop/.*\.pyi?$",
        "scenarios of papers": r"farloop/papers/.*\.toml$",
        "scenarios of the arena": r"farloop/studies/arena/scenarios/.*\.toml$",
        "pages of the specification": r"farloop/spec/.*\.md$",
        "programs for the kernel": r"farloop/kernel/objects/.*\.bpf\.o$",
        "licences": r".*/licenses/.*",
    }
    counts = ", ".join(f"{sum(bool(re.match(form, name)) for name in files)} {what}" for what, form in kinds.items())
    unpacked = _megabytes(sum(map(len, files.values())))
    return [
        f"{wheel.name}: {_megabytes(wheel.stat().st_size)}, unpacked {unpacked}, of it the module {_megabytes(len(inside))}",
        f"  {counts}; nothing else",
        f"  sha256 {hashlib.sha256(wheel.read_bytes()).hexdigest()}",
    ]


def check_tag(wheel: Path) -> str:
    """Lets auditwheel say on which systems a wheel runs.

    Raises:
        RefusedError: it needs a newer system than its name says.
    """
    said = run([sys.executable, "-m", "auditwheel", "show", str(wheel)])
    tag = re.search(r'platform tag:\s*"(manylinux_\d+_\d+)_(\w+)"', said)
    version = [int(n) for n in tag[1].split("_")[1:]] if tag else [99]
    if tag is None or f"{MANYLINUX}_{tag[2]}" not in wheel.name or version > [int(n) for n in MANYLINUX.split("_")[1:]]:
        raise RefusedError(f"{wheel.name}: auditwheel finds another system than the name says\n{said}")
    return f"  auditwheel: {tag[1]}_{tag[2]} or newer"


def check_sdist(package: Path, sources: Sources) -> list[str]:
    """Holds what a source distribution has against what git has; lines that say what it has.

    Raises:
        RefusedError: something lacks, or is there and should not be.
    """
    with tarfile.open(package) as archive:
        members = [member for member in archive.getmembers() if not member.isdir()]
        if any(member.issym() or member.islnk() for member in members):
            raise RefusedError(f"{package.name}: has links, which not every system unpacks")
        files = {member.name.partition("/")[2] for member in members}
    git = {name for name in sources.files if not (sources.directory / name).is_symlink()}
    tops = {"Cargo.toml", "Cargo.lock", "pyproject.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE", CRATES}
    expected = {
        name
        for name in git
        if name.startswith(("crates/", "benches/", "linux/gemini/"))
        and (not name.startswith("benches/") or name.endswith(".toml"))
    }
    expected |= {f"python/{name}" for name in sources.package()} | tops | {"PKG-INFO"}
    _hold(
        package,
        files,
        expected,
        {name for name in files if name.startswith("crates/") and name.endswith("/Cargo.lock")},
    )
    return [
        f"{package.name}: {_megabytes(package.stat().st_size)}, {len(files)} files",
        f"  sha256 {hashlib.sha256(package.read_bytes()).hexdigest()}",
    ]


def _hold(package: Path, files: set[str], expected: set[str], allowed: Iterable[str]) -> None:
    lacking, surplus = sorted(expected - files), sorted(files - expected - set(allowed))
    if lacking or surplus:
        problems = [
            f"{what}: {', '.join(names[:8])}{' …' if len(names) > 8 else ''}"
            for what, names in (("lacks", lacking), ("has besides", surplus))
            if names
        ]
        raise RefusedError(f"{package.name}: {'; '.join(problems)}")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def build(kinds: Sequence[str], out: Path, *, quick: bool, tries: bool, pythons: Sequence[str]) -> None:
    """Builds packages, checks and tries them.

    Raises:
        RefusedError: one cannot be built, or has something else than it should.
        BrokenError: one does not do what it should.
    """
    with tempfile.TemporaryDirectory(prefix="farloop-packages-") as name:
        sources = Sources(Path(name).resolve())
        say(
            f"commit {sources.commit[:12]}{' with changes' if sources.changed else ''}, {sources.compile_kernel_programs()}"
        )
        sources.collect_licences()
        environment = sources.environment(quick=quick)
        made = []
        for kind in kinds:
            if kind == SDIST:
                made.append(build_sdist(sources, out, environment))
                say(*check_sdist(made[-1], sources))
                continue
            if lacking := missing(kind):
                say(f"no wheel for {kind}, which needs {lacking}")
                continue
            wheel = build_wheel(sources, kind, out, environment)
            say(*check_wheel(wheel, sources), check_tag(wheel))
            if kind == platform.machine():
                made.append(wheel)
            else:
                say(f"  not tried: this is no {kind}")
    if quick:
        os.environ.update({key: environment[key] for key in environment if key.startswith("CARGO_PROFILE_RELEASE_")})
    for package in made if tries else []:
        # The module is the same for all of them; a source distribution is compiled once.
        for python in pythons if package.suffix == ".whl" else pythons[:1]:
            say(
                f"{package.name} under {python}",
                *(f"  {line}".rstrip() for line in try_package.try_out(package, python)),
            )


def say(*lines: str) -> None:
    """Prints lines at once: what follows takes minutes."""
    print(*lines, sep="\n", flush=True)  # noqa: T201


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where packages go (default: dist)")
    parser.add_argument("--only", default=",".join(KINDS), help=f"which of {', '.join(KINDS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="without optimisation at link time")
    parser.add_argument("--no-try", action="store_true", help="do not install and use what was built")
    parser.add_argument(
        "--python",
        action="append",
        help="an interpreter to try wheels with; may be repeated (default: the one that runs this)",
    )
    options = parser.parse_args()
    kinds = options.only.split(",")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        parser.error(f"--only: {unknown[0]}: expected some of {', '.join(KINDS)}")
    try:
        build(
            kinds,
            options.out.resolve(),
            quick=options.quick,
            tries=not options.no_try,
            pythons=options.python or [sys.executable],
        )
    except (RefusedError, try_package.BrokenError) as error:
        print(f"build_packages: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
