"""Values and functions are called by what they hold or do: no name is a word that fits everything."""

import ast
import functools
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EMPTY = {"found", "told", "one"}
"""Words that say nothing of a value."""

PUBLIC = {
    ("python/farloop/statistics.py", "told"),
    ("python/farloop/studies/sweep/study.py", "told"),
    ("python/farloop/kernel/doctor.py", "found"),
}
"""Names that users have: `Interval.told`, `Study.told`, and the column `found` of `farloop kernel doctor --json`."""

BARE = set(
    re.findall(
        r"\w+",
        "a about above across after again against ago all almost alone along already also always among and apart around as aside at away "
        "because before behind below beneath beside between beyond both but by down each else enough every everywhere few for from hence "
        "here how if in inside into its just later least less like likely little many maybe more most much near nearly never no not now of "
        "off often on once one only onto or other others out outside over own per rather same several since so some soon still such than "
        "that the their then there this those though through to together too toward under until up upon what when where whether which who "
        "whoever whole whose why with within without yet",
    )
)
"""Prepositions, adverbs, pronouns: none of them says what a function does."""

PARTICIPLES = set(
    re.findall(
        r"\w+",
        "been begun bent bought broken brought built caught chosen dealt done drawn driven eaten fallen felt found frozen given gone grown "
        "held hidden hung kept known laid led left lent lost made meant met paid said seen sent shaken shown slept sold sought spent "
        "spoken stolen stood struck taken taught thought thrown told torn understood won worn written",
    )
)
ADJECTIVES = set(
    re.findall(
        r"\w+",
        "able alike available big busy certain common comparable correct double due entire equal exact fair fast final fine finite foreign "
        "fragile full good great half heavy high huge idle large late light lone loose low lower missing narrow new nice odd old plain "
        "possible quick quiet rare ready right safe short silent similar simple single small smooth steady strict strong sure thick thin "
        "tight tiny true unique usual valid wide worse wrong better best affordable",
    )
)
NO_PARTICIPLES = {"embed", "exceed", "feed", "need", "proceed", "seed", "speed", "succeed"}

EXCUSED = {
    "why": "the command and the function of farloop of that name",
    "kept": "users' own reporters of progress have it",
    "busy": "users' own reporters of progress have it",
    "near": "the word of papers' judges for a number within its tolerance",
    "refused": "the reader of TOML tables",
    "only": "the reader of TOML tables",
    "one_of": "the reader of TOML tables",
}
"""Functions whose names are bare words, with the reason."""

RUST = re.compile(r"(?<![\w.'])(?:found|told|one)\b")
LIMIT = re.compile(r"\b_?(?:MOST|LEAST|LONGEST)(?:_[A-Z0-9_]+)?\b")
"""Names of limits that are called MAX_ and MIN_ everywhere else."""

NO_CODE = re.compile(r"""r#".*?"#|'(?:\\.|[^'\\])'|"(?:[^"\\]|\\.)*"|//[^\n]*""", re.DOTALL)
"""What of Rust is no code: texts, characters, comments."""


def tracked(pattern):
    listed = subprocess.run(["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def bound(tree):
    """The names that a module gives to values, parameters, functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


@functools.cache
def names_of(file):
    """What `bound` gives of a file."""
    return tuple(bound(ast.parse((ROOT / file).read_text("utf-8"))))


def test_no_value_in_python_is_called_found_told_or_one():
    files = tracked("*.py")
    assert len(files) > 300
    empty = [
        f"{file}:{line}: {name}"
        for file in files
        for name, line in names_of(file)
        if name.strip("_").lower() in EMPTY and (file, name) not in PUBLIC
    ]
    assert not empty, "say what it is:\n" + "\n".join(empty)


def rust_code(text):
    """The lines of a file without texts and comments."""
    return NO_CODE.sub(lambda part: "\n" * part[0].count("\n"), text).splitlines()


def test_no_value_in_rust_is_called_found_told_or_one():
    files = tracked("*.rs")
    assert len(files) > 200
    empty = [
        f"{file}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(rust_code((ROOT / file).read_text("utf-8")), 1)
        if RUST.search(line)
    ]
    assert not empty, "say what it is:\n" + "\n".join(empty)


def test_limits_are_called_max_and_min():
    names = [
        f"{file}:{line}: {name}" for file in tracked("*.py") for name, line in names_of(file) if LIMIT.fullmatch(name)
    ]
    for file in [*tracked("*.rs"), *tracked("*.js")]:
        lines = rust_code((ROOT / file).read_text("utf-8"))
        names += [f"{file}:{number}: {name}" for number, line in enumerate(lines, 1) for name in LIMIT.findall(line)]
    assert not names, "write MAX_ or MIN_:\n" + "\n".join(names)
    for name in ("MOST", "_LEAST", "LONGEST_NAME", "MOST_SEEDS"):
        assert LIMIT.fullmatch(name), name
    assert not LIMIT.search("ALMOST_DONE AT_MOSTLY MAX_SEEDS")


def is_bare(name):
    """True if no word of a function's name is a verb or a noun."""
    words = [word for word in name.strip("_").lower().split("_") if word]
    return bool(words) and all(
        word in BARE | PARTICIPLES | ADJECTIVES or (re.fullmatch(r"\w{2,}ed", word) and word not in NO_PARTICIPLES)
        for word in words
    )


def functions(tree):
    """Functions and methods with their lines; properties may be adjectives."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
            decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
            if not decorators & {"property", "cached_property"}:
                yield node.name, node.lineno


def test_functions_are_called_by_a_verb_or_a_noun():
    bare = [
        (name, f"{file}:{line}: {name}")
        for file in tracked("python/farloop/*.py")
        for name, line in functions(ast.parse((ROOT / file).read_text("utf-8")))
        if is_bare(name)
    ]
    others = [place for name, place in bare if name not in EXCUSED]
    assert not others, "say what it does:\n" + "\n".join(others)
    assert len(bare) <= 15, bare


def test_bare_names_are_seen():
    for name in ("shown", "_with", "of", "told_apart", "_fair", "drawn", "smoothed", "no_less", "whoever"):
        assert is_bare(name), name
    for name in ("clip_text", "is_fair", "read", "seed", "_find_few", "from_run", "close", "open", "run", "need"):
        assert not is_bare(name), name
    tree = ast.parse(
        "class A:\n @property\n def fair(self): ...\n @classmethod\n def of(cls): ...\n def __len__(self): ..."
    )
    assert [name for name, _ in functions(tree)] == ["of"]


def test_empty_names_are_seen():
    tree = ast.parse("def f(one):\n    _found = [told for told in one]\nclass Told: ...\n")
    assert {name for name, _ in bound(tree) if name.strip("_").lower() in EMPTY} == {"one", "_found", "told", "Told"}
    for line in (
        "let found = 1;",
        "fn told() {}",
        "if let Some(one) = x {}",
        "|(at, found)| found",
        "f(x, &told, '\"', one)",
    ):
        assert RUST.search(rust_code(line)[0]), line
    assert not RUST.search("".join(rust_code('let s = "one\n of them"; // found\nself.told')))
