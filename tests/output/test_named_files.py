"""Files that users name: each is whole or absent, nothing else is replaced, and no input is written over."""

import errno
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import SMALL, Command
from typer.testing import CliRunner

from farloop.commands.app import app
from farloop.errors import FarloopError
from farloop.formats.job import read_job
from farloop.safe_files import named_files
from farloop.safe_files.named_files import NamedFiles, remove_unfinished

MINE = "mine"
JOB = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n"
SHORT = SMALL.replace('"20ms"', '"6ms"')


def write(path, text="new", inputs=()):
    with NamedFiles(inputs) as files:
        files.write(path, text.encode())


def make_device(path, kind, major, minor):
    try:
        os.mknod(path, kind | 0o666, os.makedev(major, minor))
    except PermissionError:
        pytest.skip("only root makes devices")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_new_file_has_the_mode_of_the_umask_and_an_old_one_its_own(here):
    before = os.umask(0o027)
    try:
        write("new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((here / "new").stat().st_mode) == 0o640
    for mode in (0o600, 0o664, 0o755):
        (here / "old").write_text(MINE)
        (here / "old").chmod(mode)
        write("old", "a" * 1_000_000)
        assert stat.S_IMODE((here / "old").stat().st_mode) == mode
        assert (here / "old").read_text() == "a" * 1_000_000
    assert {path.name for path in here.iterdir()} == {"new", "old"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_of_a_file_keeps_it(here):
    (here / "old").write_text(MINE)
    os.chown("old", 12345, 54321)
    write("old")
    assert ((here / "old").stat().st_uid, (here / "old").stat().st_gid) == (12345, 54321)


def test_a_reader_of_the_old_file_keeps_it_whole(here):
    (here / "old").write_text(MINE)
    with (here / "old").open() as reader:
        write("old")
        assert reader.read() == MINE


def test_a_link_stays_and_what_it_leads_to_is_replaced(here):
    (here / "far").mkdir()
    (here / "far" / "file").write_text(MINE)
    (here / "far" / "link").symlink_to("file")
    (here / "link").symlink_to("far/link")
    write("link")
    assert (here / "link").is_symlink() and (here / "far" / "link").is_symlink()
    assert (here / "far" / "file").read_text() == "new"
    assert len(list(here.rglob("*"))) == 4


def test_a_link_to_nothing_makes_what_it_names(here):
    (here / "far").mkdir()
    (here / "link").symlink_to("far/file")
    write("link")
    assert (here / "link").is_symlink()
    assert (here / "far" / "file").read_text() == "new"
    (here / "nowhere").symlink_to("absent/file")
    with pytest.raises(FarloopError, match="nowhere: cannot be written: No such file or directory"):
        write("nowhere")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "it is a folder"),
        (".", "it is a folder"),
        ("/", "it is a folder"),
        ("folder", "it is a folder"),
        ("link-to-folder", "it is a folder"),
        ("socket", "it is a socket"),
        ("loop", "Too many levels of symbolic links"),
        ("absent/file", "No such file or directory"),
        ("file/below", "Not a directory"),
        ("a" * 300, "File name too long"),
        ("a\0b", "null byte"),
    ],
)
def test_what_is_no_file_is_refused(name, why, here):
    (here / "folder").mkdir()
    (here / "link-to-folder").symlink_to("folder")
    (here / "loop").symlink_to("loop")
    (here / "file").write_text(MINE)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        before = sorted(path.lstat().st_ino for path in here.rglob("*"))
        with pytest.raises(FarloopError) as refused:
            write(name)
        assert why in str(refused.value)
        assert "\n" not in str(refused.value)
        assert sorted(path.lstat().st_ino for path in here.rglob("*")) == before


def test_a_block_device_is_refused(here):
    make_device("disk", stat.S_IFBLK, 7, 250)
    with pytest.raises(FarloopError, match="disk: cannot be written: it is a block device"):
        write("disk")
    assert stat.S_ISBLK((here / "disk").stat().st_mode)


def test_a_device_is_written_and_stays(here):
    make_device("null", stat.S_IFCHR, 1, 3)
    (here / "link").symlink_to("null")
    for name in ("null", "link"):
        write(name)
        with NamedFiles(["null"]) as files:
            files.write("null", b"x")
            files.write("null", b"x")
            files.write("./null", b"x")
    assert stat.S_ISCHR((here / "null").stat().st_mode)
    make_device("full", stat.S_IFCHR, 1, 7)
    with pytest.raises(FarloopError, match="full: cannot be written: No space left on device"):
        write("full")
    assert stat.S_ISCHR((here / "full").stat().st_mode)


def test_a_pipe_is_written(here):
    os.mkfifo("pipe")
    (here / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        read = []
        reader = threading.Thread(target=lambda read=read: read.append((here / "pipe").read_text()))
        reader.start()
        write(name, "a" * 200_000)
        reader.join(60)
        assert read == ["a" * 200_000]
    assert stat.S_ISFIFO((here / "pipe").stat().st_mode)


def test_a_pipe_that_nobody_reads_stops_nobody(here, monkeypatch):
    monkeypatch.setattr(named_files, "PATIENCE", 0.1)
    os.mkfifo("pipe")
    with pytest.raises(FarloopError, match="nobody read from it"):
        write("pipe")


def test_no_input_and_no_other_output_is_written(here):
    (here / "input").write_text(MINE)
    (here / "link").symlink_to("input")
    os.link("input", "hard")
    os.mkfifo("pipe")
    for name in ("input", "./input", str(here / "input"), "link", "hard", "pipe"):
        with pytest.raises(FarloopError, match="cannot be written: the command reads it"):
            write(name, inputs=["absent", "nul\0", "link", "pipe"])
    (here / "other").symlink_to("new")
    (here / "old").write_text(MINE)
    os.link("old", "same")
    with (
        pytest.raises(FarloopError, match="new: cannot be written: the command writes it twice"),
        NamedFiles() as files,
    ):
        files.write("new", b"x")
        files.write("new", b"x")
    for names in (("new", "./new"), ("new", "other"), ("other", "new"), ("old", "same")):
        with pytest.raises(FarloopError, match="the command also writes it as"), NamedFiles() as files:
            for name in names:
                files.write(name, b"x")
    assert {(here / name).read_text() for name in ("input", "old")} == {MINE}
    assert not (here / "new").exists()


def test_several_files_come_together_or_not_at_all(here):
    (here / "a").write_text(MINE)
    with pytest.raises(RuntimeError), NamedFiles() as files:
        files.write("a", b"x")
        files.write("b", b"x")
        raise RuntimeError
    assert [(path.name, path.read_text()) for path in here.iterdir()] == [("a", MINE)]
    with NamedFiles() as files:
        files.write("a", b"x")
        files.write("b", b"x")
        assert not (here / "b").exists()
        assert (here / "a").read_text() == MINE
    assert {path.name: path.read_text() for path in here.iterdir()} == {"a": "x", "b": "x"}


def test_what_has_taken_the_place_meanwhile_is_not_replaced(here):
    with pytest.raises(FarloopError, match="something else has taken its place"), NamedFiles() as files:
        files.write("a", b"x")
        os.mkfifo("a")
    assert [path.name for path in here.iterdir()] == ["a"]
    assert stat.S_ISFIFO((here / "a").stat().st_mode)


def test_a_full_disk_leaves_the_old_file(here):
    (here / "old").write_text(MINE)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(FarloopError, match=f"old: cannot be written: {os.strerror(errno.EFBIG)}"):
            write("old", "a" * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [(path.name, path.read_text()) for path in here.iterdir()] == [("old", MINE)]


def test_a_command_that_ends_at_once_leaves_nothing(here):
    files = NamedFiles()
    with pytest.raises(FarloopError, match="the command has ended"), files:
        files.write("a", b"x")
        assert len(list(here.iterdir())) == 1
        remove_unfinished()
        assert not list(here.iterdir())
        files.write("b", b"x")
    assert not list(here.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes whatever it likes")
def test_what_is_protected_is_refused_early(here):
    (here / "old").write_text(MINE)
    (here / "old").chmod(0o444)
    (here / "locked").mkdir(mode=0o555)
    for name in ("old", "locked/new"):
        with pytest.raises(FarloopError, match="Permission denied"):
            NamedFiles().check(name)


def shell(here, text):
    words = ["bash", "-c", text.replace("farloop", f"{sys.executable} -m farloop")]
    done = subprocess.run(words, cwd=here, capture_output=True, text=True, timeout=300, check=False)
    assert "Traceback" not in done.stderr
    return done


def test_writers_at_once_all_succeed(here):
    (here / "j.goal").write_text(JOB)
    started = [
        subprocess.Popen([sys.executable, "-m", "farloop", "import-job", "j.goal", "--no-time", "--out", "i.bin"])
        for _ in range(8)
    ]
    assert [process.wait(300) for process in started] == [0] * 8
    assert {path.name for path in here.iterdir()} == {"j.goal", "i.bin"}
    assert read_job(["i.bin"])["sends"] == 1


def test_a_file_that_another_writer_replaces_meanwhile_is_replaced(here, monkeypatch):
    (here / "a").write_text("old")
    (here / "b").write_text("another writer's")
    resolve = os.path.realpath

    def replace_and_resolve(path, **options):
        if (here / "b").exists():
            (here / "b").replace(here / "a")
        return resolve(path, **options)

    monkeypatch.setattr(os.path, "realpath", replace_and_resolve)
    with NamedFiles() as files:
        files.write("a", b"mine")
    assert (here / "a").read_text() == "mine"
    assert [path.name for path in here.iterdir()] == ["a"]


def test_files_of_strangers_stay(here):
    (here / "j.goal").write_text(JOB)
    (here / "victim").write_text(MINE)
    (here / "x.goal.part").symlink_to("victim")
    for name in ("y.goal.part", ".x.goal.part"):
        (here / name).write_text(MINE)
    for name in ("x.goal", "y.goal"):
        read_job(["j.goal"], out=name)
        assert (here / name).is_file()
    assert all((here / name).read_text() == MINE for name in ("victim", "x.goal.part", "y.goal.part", ".x.goal.part"))


def test_a_shell_s_pipes_are_read_and_written(here):
    (here / "j.goal").write_text(JOB)
    done = shell(
        here, "farloop import-job <(cat j.goal) --to goal --out >(cat > out.goal) && farloop import-job j.goal"
    )
    assert done.returncode == 0, done.stderr
    (here / "wrong.goal").write_text(JOB.replace("8b", "-8b"))
    done = shell(here, "farloop import-job <(cat wrong.goal)")
    assert done.returncode == 2
    assert done.stderr.startswith("farloop: /dev/fd/") and ":3: " in done.stderr
    assert read_job([here / "out.goal"])["sends"] == 1
    read_job(["j.goal"], out="t.et")
    done = shell(here, "farloop import-job <(cat t.0.et) <(cat t.1.et) --out u.et")
    assert done.returncode == 0, done.stderr
    assert [(here / f"u.{rank}.et").read_bytes() for rank in (0, 1)] == [
        (here / f"t.{rank}.et").read_bytes() for rank in (0, 1)
    ]
    done = shell(here, "cat j.goal | farloop import-job /dev/stdin --no-time --to goal --out /dev/stdout | grep rank")
    assert done.returncode == 0, done.stderr
    assert "num_ranks 2\n" in done.stdout


def test_standard_output_in_a_file_is_appended_to(here):
    (here / "j.goal").write_text(JOB)
    (here / "log").write_text(MINE + "\n")
    inode = (here / "log").stat().st_ino
    done = shell(here, "farloop import-job j.goal --no-time --to goal --out /dev/stdout >> log")
    assert done.returncode == 0, done.stderr
    lines = (here / "log").read_text().splitlines()
    assert lines[0] == MINE and "num_ranks 2" in lines and lines[-1] == "written: /dev/stdout"
    assert (here / "log").stat().st_ino == inode
    done = shell(here, "farloop import-job j.goal --no-time --to goal --out /dev/stdout >> j.goal")
    assert (done.returncode, (here / "j.goal").read_text()) == (2, JOB)


def test_import_job_writes_over_none_of_its_files(here):
    (here / "j.goal").write_text(JOB)
    read_job(["j.goal"], out="t.et")
    (here / "g.json").write_text('{"0": [0, 1]}')
    before = {path.name: path.read_bytes() for path in here.iterdir()}
    traces = ["t.0.et", "t.1.et"]
    for files, out, to in ((["j.goal"], "j.goal", "goal-binary"), (traces, "t.et", None), (traces, "g.json", "goal")):
        with pytest.raises(FarloopError, match="cannot be written: the command reads it"):
            read_job(files, out=out, to=to, groups="g.json" if files == traces else None)
    assert {path.name: path.read_bytes() for path in here.iterdir()} == before


@pytest.mark.parametrize("option", ["--html", "--svg"])
def test_why_writes_over_nothing_that_it_reads(option, here):
    (here / "flows.csv").write_text("name,from,to,size\nf,s1,d1,10kB\n")
    text = SHORT[: SHORT.index("[[flow]]")] + '[workload]\nflows = "flows.csv"\n'
    (here / "s.toml").write_text(text)
    run = CliRunner().invoke
    assert run(app, ["run", "s.toml", "--no-report", "-q", "--out", "r"]).exit_code == 0
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    for source, name in (("s.toml", "s.toml"), ("s.toml", "flows.csv"), ("r", "r/flows.parquet"), ("r", "flows.csv")):
        done = run(app, ["why", source, "f", option, name])
        assert done.exit_code == 2, done.output
        assert f"{name}: cannot be written: the command reads it" in " ".join(done.output.split())
    (here / "link").symlink_to("w")
    for other, why in (("./w", "the command writes it twice"), ("link", "the command also writes it as w")):
        done = run(app, ["why", "s.toml", "f", "--html", "w", "--svg", other])
        assert (done.exit_code, why in " ".join(done.output.split())) == (2, True)
    (here / "link").unlink()
    for name in ("", ".", "/"):
        done = run(app, ["why", "s.toml", "f", option, name])
        assert (done.exit_code, "it is a folder" in " ".join(done.output.split())) == (2, True)
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before
    done = run(app, ["why", "r", "f", option, "r/new"])
    assert done.exit_code == 0, done.output
    assert (here / "r" / "new").stat().st_size > 1000


@pytest.mark.parametrize(
    "keys", ['[[job]]\nname = "a"\nfile = "{}"', '[workload]\nflows = "{}"', '[workload]\nsizes = "{}.csv"\nload = 0.5']
)
@pytest.mark.parametrize("what", ["pipe", "device", "link to a pipe"])
def test_a_scenario_that_names_a_pipe_is_refused(keys, what, here):
    for name in ("pipe", "pipe.csv"):
        if what == "device":
            Path(name).symlink_to("/dev/zero")
        elif what == "pipe":
            os.mkfifo(name)
        else:
            os.mkfifo(f"far-{name}")
            Path(name).symlink_to(f"far-{name}")
    text = SHORT[: SHORT.index("[[flow]]")]
    (here / "s.toml").write_text(text + keys.format("pipe") + "\n")
    done = Command(here)("explain", "s.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert "is not a regular file" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("signals", [1, 2])
def test_an_interrupted_import_leaves_nothing(signals, here):
    lines = "".join(f"l{i}: calc 1\n" for i in range(400_000))
    (here / "large.goal").write_text(f"num_ranks 1\nrank 0 {{\n{lines}}}\n")
    (here / "out.goal").write_text(MINE)
    process = subprocess.Popen(
        [sys.executable, "-m", "farloop", "import-job", "large.goal", "--no-time", "--out", "out.goal"],
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts background jobs with SIGINT ignored, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not list(here.glob(".farloop-*")):
        assert process.poll() is None
        time.sleep(0.001)
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    # The second one may come when all is tidied up.
    assert process.returncode in (130, -signal.SIGINT), err
    assert "Traceback" not in err
    assert {path.name for path in here.iterdir()} == {"large.goal", "out.goal"}
    assert (here / "out.goal").read_text() == MINE
