"""Source files and functions are short enough to be read in one go."""

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAX_LINES_OF_FILE = 600
MAX_LINES_OF_FUNCTION = 100
LONG_FILES: dict[str, str] = {}
"""Files that may be longer, and why."""
REFUSALS = "a list of refused texts with their messages"
LONG_FUNCTIONS = {
    "crates/cc/examples/gemini_vectors.rs: play": "one arm for each line of a script",
    "crates/scenario/tests/malformed/events.rs: events_of_links": REFUSALS,
    "crates/scenario/tests/malformed/networks.rs: fabrics_and_overrides": REFUSALS,
    "crates/scenario/tests/malformed/networks.rs: networks_and_traffic": REFUSALS,
    "crates/scenario/tests/malformed/transports.rs: transports": REFUSALS,
    "crates/scenario/tests/malformed/workloads.rs: workloads": REFUSALS,
    "crates/scenario/tests/transport.rs: what_makes_no_sense_is_refused": REFUSALS,
    "python/farloop/papers/gemini/fig12-15.py: judge": "the statements of one claim share what they measure",
}
"""Functions that may be longer, and why."""

FUNCTION = re.compile(
    r"(?P<indent> *)(?:pub(?:\([^)]*\))? )?(?:default )?(?:const )?(?:async )?(?:unsafe )?(?:extern \"C\" )?fn (?P<name>\w+)"
)


def listed(*patterns):
    """Files under version control, by name."""
    command = ["git", "ls-files", *patterns]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: (ROOT / name).read_text() for name in names if (ROOT / name).is_file()}


def rust_functions(text):
    """(name, lines) of each function: as rustfmt lays it out, it ends at the first brace that stands where it begins."""
    lines = text.splitlines()
    for begin, line in enumerate(lines):
        function = FUNCTION.match(line)
        if function and not line.endswith(("}", ";")):
            ends = (f"{function['indent']}}}", f"{function['indent']});", f"{function['indent']}) -> Self;")
            end = next((i for i in range(begin + 1, len(lines)) if lines[i] in ends), begin)
            yield function["name"], end - begin + 1


def python_functions(text):
    """(name, lines) of each function, without its docstring."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node) is not None
            docstring = first.end_lineno - first.lineno + 1 if documented else 0
            yield node.name, node.end_lineno - node.lineno + 1 - docstring


def test_no_source_file_is_longer_than_600_lines():
    lines = {name: len(text.splitlines()) for name, text in listed("*.py", "*.pyi", "*.rs").items()}
    assert len(lines) > 400
    long = {name for name, count in lines.items() if count > MAX_LINES_OF_FILE}
    assert not {name: lines[name] for name in long - set(LONG_FILES)}
    assert not set(LONG_FILES) - long, "an exception that is short enough by now"


def test_no_function_is_longer_than_100_lines():
    lines = {}
    for patterns, functions in ((["*.rs"], rust_functions), (["*.py"], python_functions)):
        for file, text in listed(*patterns).items():
            for name, count in functions(text):
                function = f"{file}: {name}"
                lines[function] = max(count, lines.get(function, 0))
    assert len(lines) > 5000
    long = {function for function, count in lines.items() if count > MAX_LINES_OF_FUNCTION}
    assert not {function: lines[function] for function in long - set(LONG_FUNCTIONS)}
    assert not set(LONG_FUNCTIONS) - long, "an exception that is short enough by now"


def test_lengths_of_functions_are_counted():
    rust = "impl A {\n    pub(crate) fn long(\n        a: u8,\n    ) -> u8 {\n        {\n        }\n    }\n    fn one() {}\n}\n"
    assert list(rust_functions(rust)) == [("long", 6)]
    python = 'def long(a):\n    """Text.\n\n    More.\n    """\n    return a\n'
    assert list(python_functions(python)) == [("long", 2)]
