"""Commit messages have the form that `make lint` asks for."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import commit_subjects  # noqa: E402

BODY = "\n\nTwo engines gave two answers.\n"


@pytest.mark.parametrize(
    "subject",
    [
        "Share one engine between arena and sweep",
        "Pass the seed on",
        "Embed fonts in figures",
        "Bring reports to phones",
        "Re-measure the table of distance",
    ],
)
def test_an_order_with_a_reason_is_accepted(subject):
    assert commit_subjects.check_message(f"{subject}{BODY}# a comment of git's\n") == []


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        (f"Arena and sweep share one engine.{BODY}", "the subject ends with a full stop"),
        (f"What multipath endpoints take is told{BODY}", '"What" is no order'),
        (f"Shared one engine{BODY}", '"Shared" is no order'),
        (f"Sharing one engine{BODY}", '"Sharing" is no order'),
        (f"Shares one engine{BODY}", '"Shares" is no order'),
        (f"wip 2{BODY}", '"wip" is no order'),
        (f"Share {'x' * 100}{BODY}", "the subject has 106 characters; 100 at most"),
        ("Share one engine", "there is no body; it says why"),
        ("Share one engine\n\n# a comment\n", "there is no body; it says why"),
        ("Share one engine\nbetween both\n", "the second line is not empty"),
        ("", '"" is no order'),
    ],
)
def test_other_messages_are_told_what_to_write(message, problem):
    assert any(found_problem.startswith(problem) for found_problem in commit_subjects.check_message(message))


@pytest.fixture
def repository(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        done = subprocess.run(
            ["git", *identity, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        return done.stdout.strip()

    git("init", "--quiet")
    for subject in ("older words", "Add the second file", "Add the third file"):
        git("commit", "--quiet", "--allow-empty", "-m", subject, "-m", "It was missing.")
    return tmp_path, git


def test_commits_since_the_rule_are_read(repository):
    root, git = repository
    first = git("rev-list", "--max-parents=0", "HEAD")
    subjects = [message.splitlines()[0] for _, message in commit_subjects.list_messages(root, first)]
    assert subjects == ["Add the third file", "Add the second file"]


def test_a_clone_without_that_history_has_its_last_commit_read(repository):
    root, _ = repository
    subjects = [message.splitlines()[0] for _, message in commit_subjects.list_messages(root, "0" * 40)]
    assert subjects == ["Add the third file"]
