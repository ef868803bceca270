#!/usr/bin/env python3
"""Form of commit messages, as `make lint` checks it: the subject is an order in one line, and a body says why.

    python scripts/commit_subjects.py                  # every commit since the rule holds
    python scripts/commit_subjects.py --message FILE   # the message in a file, as git's hook commit-msg has it

"Share one engine between arena and sweep" says what a commit does. "Arena and sweep share one engine" says what is true after it, and
"Shared one engine" what somebody did. It prints each commit with what to write instead; exit status 1 if there is one.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

SINCE = "e7173b15c625"
"""The first commit to which the rule does not apply. A clone that lacks it, such as a shallow one, has its last commit checked alone."""

MAX_SUBJECT = 100
"""Characters: what `git log --oneline` shows beside a hash in a terminal of 110 columns."""

NO_VERBS = re.compile(
    "An?|All|Also|And|Another|As|At|Both|Bug|But|By|Docs|Each|Every|For|From|How|If|In|It|Its|Minor|Misc|More|New|No|Now|Of|On|One|Some|"
    "That|The|Their|There|These|They|This|To|Typo|Various|We|What|When|Where|Whether|Which|Who|Why|With"
)
"""Words with which descriptions begin."""

VERBS_IN_S = re.compile("Address|Bypass|Cross|Discuss|Dismiss|Express|Focus|Pass|Press|Process|Stress|Suppress")
VERBS_IN_ED_OR_ING = re.compile("Bring|Embed|Exceed|Feed|Need|Ping|Proceed|Seed|Shed|Speed|Succeed|Swing")


def check_message(message: str) -> list[str]:
    """Returns what is wrong with a message; nothing where it has the form."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject, *rest = lines or [""]
    word = subject.split(" ")[0]
    wrong = []
    if not re.fullmatch(r"[A-Z][a-z]+(-[a-z]+)?", word) or NO_VERBS.fullmatch(word) or not _is_imperative(word):
        wrong.append(f'"{word}" is no order; begin with a verb, as in "Share one engine between arena and sweep"')
    if len(subject) > MAX_SUBJECT:
        wrong.append(f"the subject has {len(subject)} characters; {MAX_SUBJECT} at most")
    if subject.endswith("."):
        wrong.append("the subject ends with a full stop; leave it out")
    if rest and rest[0].strip():
        wrong.append("the second line is not empty")
    if not any(line.strip() for line in rest):
        wrong.append("there is no body; it says why")
    return wrong


def _is_imperative(word: str) -> bool:
    if word.endswith("s"):
        return VERBS_IN_S.fullmatch(word) is not None
    return not word.endswith(("ed", "ing")) or VERBS_IN_ED_OR_ING.fullmatch(word) is not None


def list_messages(root: Path, since: str = SINCE) -> list[tuple[str, str]]:
    """Returns hash and message of each commit after `since` that is no merge; of the last one where that is not in the history."""

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )

    is_there = git("merge-base", "--is-ancestor", since, "HEAD").returncode == 0
    listed = git("log", "--no-merges", "--format=%h%x00%B%x01", *([f"{since}..HEAD"] if is_there else ["-1"]))
    entries = (entry.strip("\n").partition("\0") for entry in listed.stdout.split("\x01") if entry.strip())
    return [(name, message) for name, _, message in entries]


def main() -> int:
    """Checks what the command line names."""
    parser = argparse.ArgumentParser(description="Check the form of commit messages.")
    parser.add_argument(
        "--message", type=Path, metavar="FILE", help="check the message in this file instead of commits"
    )
    message = parser.parse_args().message
    root = Path(__file__).resolve().parent.parent
    messages = list_messages(root) if message is None else [("this commit", message.read_text(encoding="utf-8"))]
    count = 0
    for name, text in messages:
        for problem in check_message(text):
            count += 1
            sys.stdout.write(f"{name}: {text.splitlines()[0] if text else ''}\n    {problem}\n")
    sys.stdout.write(f"{len(messages)} commit messages, {count} findings\n")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
