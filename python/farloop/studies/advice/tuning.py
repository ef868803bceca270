"""Better parameters for an algorithm on a scenario: a search by Optuna, judged on seeds that it has not seen.

Each algorithm gets the same number of trials. A trial is the goal's cost over a few seeds, with a penalty for constraints that it breaks.
The search's best values then run beside the defaults under other seeds: a gain that is not significant there is not advised. That
guards against the luckiest of many trials, which is always better than the defaults where it was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from farloop import catalogue, statistics, units
from farloop.algorithm import by_scope
from farloop.errors import FarloopError
from farloop.statistics import Interval
from farloop.studies.advice.question import Question
from farloop.studies.advice.racing import Candidate, apply_cost, scores
from farloop.studies.advice.runs import Ask, Runs
from farloop.studies.arena.measuring import Measured
from farloop.studies.arena.ranking import FAILS, standings

TRIALS = 24
"""Trials of an algorithm where the budget has room for as many."""

MIN_TRIALS = 6
"""Fewer say nothing."""

SEEDS = 3
"""Seeds of a trial."""

JUDGED = 10
"""Seeds on which what was found is judged."""

SEARCHED_FROM, JUDGED_FROM = 500_000, 600_000
"""The first seeds of both: others than those of the race."""

REACH = 4.0
"""A parameter is looked for from its default over this to its default times this, within its range."""

_PENALTY = 10.0
"""Cost of a broken constraint, by the logarithm of how far: more than any gain."""

_KINDS = {"float", "integer", "time", "rate", "size", "bytes"}

EXTRA = "the search for parameters needs Optuna; install farloop's extra `advise`, or ask with --no-tune"


@dataclass(frozen=True)
class SearchRange:
    """Where a parameter is looked for.

    Attributes:
        name: The parameter.
        kind: "float", "integer", "time", "rate" or "size".
        low: The least value, in its base unit.
        high: The largest.
        default: Its default value.
    """

    name: str
    kind: str
    low: float
    high: float
    default: float

    def text(self, value: float) -> str:
        """A value as a scenario has it."""
        if self.kind == "integer":
            return str(round(value))
        if self.kind == "time":
            return _with_unit(value * 1e12, ("ps", "ns", "us", "ms", "s"))
        if self.kind == "rate":
            return _with_unit(value, ("bps", "kbps", "Mbps", "Gbps"))
        return f"{round(value)}B" if self.kind in ("size", "bytes") else f"{value:.4g}"


@dataclass(frozen=True)
class Tuned:
    """Result of a search for an algorithm.

    Attributes:
        candidate: The algorithm as it was raced.
        settings: The parameters that were found, by name, as scenarios have them.
        defaults: Their default values.
        trials: Number of trials.
        gain: Ratio of its cost to that of the defaults under other seeds: below 1 is better.
        breaks: The constraints that it breaks there.
        is_advised: True if it differs significantly from the defaults, by more than a user would notice, and nothing breaks.
        because: Why nothing was looked for; empty where something was.
        measured: The runs under those seeds, tuned ones.
    """

    candidate: Candidate
    settings: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    trials: int = 0
    gain: Interval = Interval(None, None, None, 0)  # noqa: RUF009, it is frozen
    breaks: str = ""
    is_advised: bool = False
    because: str = ""
    measured: tuple[Measured, ...] = ()

    @property
    def tuned(self) -> Candidate:
        """The algorithm with what was found."""
        return Candidate(
            f"{self.candidate.name} tuned",
            self.candidate.algorithm,
            self.candidate.scenario.override(keys(self.candidate.algorithm, self.settings)),
        )


def ranges(candidate: Candidate) -> list[SearchRange]:
    """The parameters of an algorithm that are numbers, and where they are looked for: around what the scenario has.

    Those that are "none" or 0 there are left out.
    """
    sides = by_scope(candidate.algorithm)
    return [each for side in sides for each in _ranges_of_side(candidate, side, f"{side}." if len(sides) > 1 else "")]


def _ranges_of_side(candidate: Candidate, algorithm: str, before: str) -> list[SearchRange]:
    """Those of one algorithm; their names begin with `before`."""
    if not catalogue.is_algorithm(algorithm):
        return []  # One in Python declares no ranges to search.
    there = candidate.scenario.resolved["algorithm"].get(algorithm, {})
    searched = []
    for parameter in catalogue.algorithm(algorithm)["params"]:
        value = there.get(parameter["name"], parameter["default"])
        if parameter["kind"] not in _KINDS or value in (None, "none"):
            continue
        default = _number(parameter["kind"], str(value))
        least, _, most = str(parameter["range"]).partition(" to ")
        low, high = (_number(parameter["kind"], end) for end in (least, most)) if most else (0.0, math.inf)
        if default <= 0:
            continue
        low, high = max(low, default / REACH), min(high, default * REACH)
        if parameter["kind"] == "integer":
            low, high = math.ceil(low), math.floor(high)
        if high > low:
            searched.append(SearchRange(before + parameter["name"], parameter["kind"], low, high, default))
    return searched


def keys(algorithm: str, settings: Mapping[str, str]) -> dict[str, str]:
    """The scenario's keys of an algorithm's parameters; those of a pair are named SIDE.PARAMETER."""
    before = "algorithm." if len(by_scope(algorithm)) > 1 else f"algorithm.{by_scope(algorithm)[0]}."
    return {f"{before}{name}": value for name, value in settings.items()}


def _number(kind: str, text: str) -> float:
    read = {"time": units.seconds, "rate": units.rate, "size": units.size, "bytes": units.size}.get(kind, float)
    return float(read(text))


def _with_unit(value: float, names: Sequence[str]) -> str:
    """A number with four digits, in the largest of units each a thousand times the one before."""
    value = float(f"{value:.4g}")
    for name in names[:-1]:
        if value < 1000:
            return f"{value:.4g}{name}"
        value /= 1000
    return f"{value:g}{names[-1]}"


def has_optuna() -> bool:
    """Returns true if the search's library is installed."""
    try:
        import optuna  # noqa: F401
    except ImportError:
        return False
    return True


def trials_for(candidates: Sequence[Candidate], costs: Mapping[str, float], budget: float) -> int:
    """Returns the number of trials of each candidate for a budget: the same for all; 0 where they would be too few.

    Args:
        candidates: Those that are tuned.
        costs: Nominal seconds of a run of each, by name.
        budget: Nominal seconds for all.
    """
    each = sum(costs[candidate.name] for candidate in candidates)
    left = budget - 2 * JUDGED * each
    count = min(TRIALS, int(left / (SEEDS * each))) if each > 0 else 0
    return count if count >= MIN_TRIALS else 0


def search(candidate: Candidate, question: Question, runs: Runs, trials: int, comparisons: int) -> Tuned:
    """Looks for parameters, and judges what it has found.

    Args:
        candidate: The algorithm.
        question: Its goal and constraints count.
        runs: Makes simulations.
        trials: Number of trials.
        comparisons: Number of tuned algorithms: their judgements hold together.

    Raises:
        FarloopError: Optuna is not there.
    """
    try:
        import optuna
    except ImportError:
        raise FarloopError(EXTRA) from None
    searched = ranges(candidate)
    if not searched:
        return Tuned(candidate, because="it has no parameters that are numbers")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=question.seed, n_startup_trials=max(4, trials // 3))
    )
    # The defaults are a trial as well: what is worse than they is no find.
    study.enqueue_trial({parameter.name: parameter.default for parameter in searched})
    for _ in range(trials):
        trial = study.ask()
        settings = {parameter.name: parameter.text(_suggest_value(trial, parameter)) for parameter in searched}
        study.tell(trial, _cost(candidate, settings, question, runs))
    best = {parameter.name: parameter.text(study.best_params[parameter.name]) for parameter in searched}
    defaults = {parameter.name: parameter.text(parameter.default) for parameter in searched}
    settings = {name: value for name, value in best.items() if value != defaults[name]}
    tuned = Tuned(candidate, settings, {name: defaults[name] for name in settings}, trials)
    return (
        _judge_tuning(tuned, question, runs, comparisons)
        if settings
        else Tuned(candidate, trials=trials, because="no trial was better than the defaults")
    )


def _suggest_value(trial: Any, parameter: SearchRange) -> float:
    if parameter.kind == "integer":
        return float(
            trial.suggest_int(
                parameter.name,
                int(parameter.low),
                int(parameter.high),
                log=parameter.low > 0 and parameter.high / parameter.low > REACH,
            )
        )
    return float(trial.suggest_float(parameter.name, parameter.low, parameter.high, log=parameter.low > 0))


def _cost(candidate: Candidate, settings: Mapping[str, str], question: Question, runs: Runs) -> float:
    """The logarithm of the goal's cost over the seeds of a trial, with the penalty; very large where it cannot run."""
    measured = _run(candidate, settings, question, runs, SEARCHED_FROM, SEEDS)
    if measured is None:
        return 1e6
    value = scores(measured, question).values()
    if not value or any(math.isinf(score) for score in value):
        return 1e6
    beyond = math.fsum(
        b.excess for s in standings(apply_cost(measured, question, "it"), constraints=question.must) for b in s.broken
    )
    return math.fsum(map(math.log, value)) / len(value) + _PENALTY * beyond


def _run(
    candidate: Candidate, settings: Mapping[str, str], question: Question, runs: Runs, first: int, count: int
) -> list[Measured] | None:
    scenario = candidate.scenario.override(keys(candidate.algorithm, settings))
    begin = first + question.seed
    label = " ".join([candidate.name, *(f"{name} {value}" for name, value in settings.items())])
    asks = [
        Ask(f"{label}, seed {seed}", candidate.algorithm, scenario.override(seed=seed))
        for seed in range(begin, begin + count)
    ]
    measured = [answer.measured for answer in runs.ask(asks)]
    return None if any(run is None for run in measured) else [run for run in measured if run is not None]


def _judge_tuning(tuned: Tuned, question: Question, runs: Runs, comparisons: int) -> Tuned:
    from dataclasses import replace

    own = _run(tuned.candidate, tuned.settings, question, runs, JUDGED_FROM, JUDGED)
    usual = _run(tuned.candidate, {}, question, runs, JUDGED_FROM, JUDGED)
    if own is None or usual is None:
        return replace(tuned, because="what was found cannot be simulated under other seeds")
    a, b = scores(own, question), scores(usual, question)
    if any(math.isinf(v) for v in (*a.values(), *b.values())):
        return replace(tuned, because="under other seeds nothing is delivered")
    gain = statistics.paired_ratio(
        [a[s] for s in a], [b[s] for s in a], confidence=statistics.correct_confidence(comparisons)
    )
    table = standings(apply_cost(own, question, "it"), constraints=question.must)
    breaks = "; ".join(
        broken.beside_bound for standing in table for broken in standing.broken if standing.state == FAILS
    )
    better = gain.high is not None and gain.high < 1 and gain.estimate is not None and gain.estimate < 0.95
    return replace(tuned, gain=gain, breaks=breaks, is_advised=better and not breaks, measured=tuple(own))
