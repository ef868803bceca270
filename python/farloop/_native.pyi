"""The simulator, compiled from Rust (crates/py). Text and columns go in and out; there is no logic on this side."""

from collections.abc import Callable

_Column = tuple[str, bytes, list[str] | None]
"""Kind ("i64", "f64", "u32" or "dict"), little-endian buffer, and the names that a "dict" column's u32 numbers stand for."""

_Progress = Callable[[float, float, int], bool]
"""Called with simulated seconds, simulated seconds at the end, packet-hops so far; False cancels."""

class ScenarioError(ValueError):
    """A scenario that cannot be simulated; the text names file, key, what is wrong and what is accepted.

    Attributes:
        problem: What is wrong alone, where the simulator found it.
    """

    problem: str

class Cancelled(BaseException):
    """The progress callback asked to stop."""

class RunOutput:
    """What one simulation gave."""

    @property
    def tables(self) -> dict[str, dict[str, _Column]]: ...
    @property
    def info(self) -> str: ...
    @property
    def trace(self) -> TraceOutput | None: ...

class TraceOutput:
    """What the tracer of one simulation kept."""

    @property
    def records(self) -> int: ...
    @property
    def left_out(self) -> int: ...
    def write_perfetto(self, path: str) -> None: ...
    def write_pcapng(self, path: str) -> None: ...

def version() -> str: ...
def algorithms() -> str: ...
def workloads() -> str: ...
def schema() -> str: ...
def resolve(text: str, file: str, overrides: list[tuple[str, str]]) -> str: ...
def check(text: str, file: str, overrides: list[tuple[str, str]]) -> None: ...
def most_memory(text: str, file: str, overrides: list[tuple[str, str]]) -> int: ...
def available_memory() -> int | None: ...
def run(
    text: str,
    file: str,
    overrides: list[tuple[str, str]],
    progress: _Progress | None = None,
    threads: int = 1,
    trace: list[str] = ...,
) -> RunOutput: ...
def bench(case: str, progress: _Progress | None, threads: int = 1) -> str: ...
def bench_cases() -> list[str]: ...
