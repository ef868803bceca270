"""The answer that a run or a comparison gives, in a sentence or two, with the three numbers that it rests on.

Terminals and reports show it first. Of several algorithms it says which leads in what, by how much, whether the seeds tell them apart, and
at what cost elsewhere; of a figure how many statements hold; of one run how its flows fared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from farloop.results import effects, limits
from farloop.results.effects import ALL, LEVEL, Effect, share_text
from farloop.results.measures import MORE
from farloop.units import bytes_text, count_text, time_text

if TYPE_CHECKING:
    from farloop.results.protocols import ComparedRuns, RunNumbers
    from farloop.results.run import FigureVerdicts

    class Judged(ComparedRuns, Protocol):
        """Runs side by side with the published claims on them; `farloop.Comparison` says what each is."""

        @property
        def figure(self) -> str:
            """The identifier of the paper's figure; empty if it is none."""

        @property
        def claims(self) -> list[dict[str, Any]]:
            """The published claims with their verdicts."""


MIN_COST = 1.1
"""The ratio to the best from which on a number of the leader is named as a cost."""

TIMES_FROM = 2.0
"""Ratios from which on sentences say how many times, and no percentage."""

MAX_NAMED = 3
"""Algorithms that a sentence names side by side."""

BY_CONSTRUCTION = "by construction"
"""The reading of statements that are counted apart, as `farloop.judging.claim_readings.APART` has it; judges import results."""

_PLACES = {"cross": "across", "intra": "inside", ALL: ""}

_COSTS = (
    "p99 FCT slowdown", "mean FCT slowdown", "goodput", "longest queue", "unfinished flows", "dropped packets", "time paused by PFC",
)  # fmt: skip
"""Names of the effects that can be a cost, those first that are named first where costs are equal."""


@dataclass(frozen=True)
class KeyNumber:
    """A number at the head of a report.

    Attributes:
        name: Its name.
        value: The number with its unit.
        note: The number that it is compared with, or its place; may be empty.
    """

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Headline:
    """The answer of a run or a comparison.

    Attributes:
        sentences: The answer; never empty.
        key_numbers: At most three.
        limit: Limit of the flows under the leader, or in the run, in a sentence; empty where that is not known.
        effect: The number that decides, for the chart beside the answer; `None` where nothing is compared.
        effects: All numbers that tell the algorithms apart, for a chart that lets one choose.
    """

    sentences: tuple[str, ...]
    key_numbers: tuple[KeyNumber, ...] = ()
    limit: str = ""
    effect: Effect | None = None
    effects: tuple[Effect, ...] = field(default=(), repr=False)

    @property
    def text(self) -> str:
        """The sentences, one after the other."""
        return " ".join(self.sentences)


def headline(comparison: Judged) -> Headline:
    """The answer of a comparison, or of a run as a comparison of one."""
    made = effects.effects(comparison)
    claims = _claims_sentences(comparison)
    if len(comparison.groups) < 2 or not _have_one_case(comparison):
        alone = [_one_group(label, runs) for label, runs in list(comparison.groups.items())[:1]]
        if len(comparison.groups) < 2 and alone:
            sentences, numbers = alone[0]
            (runs,) = comparison.groups.values()
            return Headline((*claims, *sentences), numbers, limit_sentence("", _entries(runs)))
        count = f"{len(comparison.groups)} cases were simulated; the tables have their numbers."
        return Headline(claims or (count,))
    leads = _decisive(made)
    compared: list[str] = [_lead_sentence(effect, len(comparison.seeds)) for effect in leads]
    if leads and leads[0].identifier == "jain":
        compared += _share_sentence(leads[0], made)
    if leads:
        compared += _cost_sentence(leads, made)
    if leads and len(comparison.seeds) < 2:
        compared.append("It is one seed: --seeds 1-10 tells which differences last.")
    elif any(_is_undecided(effect) for effect in leads):
        compared.append(f"{len(comparison.seeds)} seeds are too few to tell these numbers apart: --seeds 1-10 does.")
    numbers = tuple(_key_number(effect, leads[0].ranking[0]) for effect in _select_numbers(leads, made))
    first = leads[0].ranking[0] if leads else ""
    limit = limit_sentence(f"Under {first}, ", _entries(comparison.groups[first])) if first else ""
    return Headline((*claims, *compared), numbers, limit, leads[0] if leads else None, tuple(made))


def answer_reproduction(done: Sequence[FigureVerdicts]) -> str:
    """The numbers of figures of papers that come out as published, and of their statements that hold."""
    claims = [claim for figure in done for claim in figure.claims]
    counts = Counter(str(claim["verdict"]) for claim in claims)
    named = ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "no claims"
    return f"{count_text(len(done), 'figure')}: {named}; {_statements_text(claims, 'statements')}."


def _have_one_case(comparison: ComparedRuns) -> bool:
    return len({run.case for runs in comparison.groups.values() for run in runs}) == 1


def _claims_sentences(comparison: Judged) -> tuple[str, ...]:
    """The number of the paper's statements that hold in these runs; nothing where none is judged."""
    if not comparison.figure or not _list_decided(comparison.claims):
        return ()
    verdicts = ", ".join(dict.fromkeys(str(claim["verdict_text"]) for claim in comparison.claims))
    return (f"{comparison.figure}: {verdicts}; {_statements_text(comparison.claims, 'statements of the paper')}.",)


def _list_decided(claims: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [s for claim in claims for s in claim.get("statements", []) if s["holds"] is not None]


def _statements_text(claims: Sequence[Mapping[str, Any]], noun: str) -> str:
    """The number of statements that hold, without those that follow from their setting alone, which are counted apart."""
    known = _list_decided(claims)
    judged = [s for s in known if s.get("reading") != BY_CONSTRUCTION]
    apart = f", and {len(known) - len(judged)} by construction" if len(judged) < len(known) else ""
    return f"{sum(bool(s['holds']) for s in judged)} of {len(judged)} {noun} hold{apart}"


def _decisive(made: Sequence[Effect]) -> list[Effect]:
    """The effects that decide: times of jobs, else slowdowns across and inside, else fairness with the throughput across."""
    if jobs := [effect for effect in made if effect.identifier.startswith("iteration_time/")]:
        return jobs[:2]
    chosen = []
    for scope in ("cross", "intra"):
        of_scope = [effect for effect in made if effect.scope == scope and "FCT slowdown" in effect.name]
        chosen += of_scope[:1]
    if chosen:
        return chosen
    return [effect for effect in (effects.find(made, "jain"), effects.find(made, "goodput")) if effect is not None][:1]


def _lead_sentence(effect: Effect, seeds: int) -> str:
    """The algorithms that lead by one number, those that follow, and the last one."""
    ranking = effect.ranking
    leader, *others = ranking
    level = [label for label in others if not _is_behind(effect, label, leader)]
    behind = [label for label in others if label not in level]
    place = _PLACES[effect.scope]
    opening = f"{place.capitalize()}, " if place else ""
    if not level:
        text = f"{opening}{leader} leads: {effect.name} {effect.value_text(leader)}"
    elif len(level) <= MAX_NAMED:
        alike = _list_text([leader, *level])
        each = list(dict.fromkeys(effect.value_text(label) for label in (leader, *level)))
        numbers = _list_text(each) if len(each) < MAX_NAMED else f"{each[0]} to {each[-1]}"
        state = f"{seeds} seeds do not tell {alike} apart" if seeds > 1 else f"{alike} are level"
        text = f"{opening}{state}: {effect.name} {numbers}"
    else:
        best = f"{opening}{leader} has the best {effect.name}, {effect.value_text(leader)}"
        others_alike = f"{len(level)} others"
        text = f"{best}; {f'{seeds} seeds do not tell {others_alike} from it' if seeds > 1 else f'{others_alike} are level'}"
    if not behind:
        return f"{text}."
    named = behind if len(behind) < MAX_NAMED else [behind[0], behind[-1]]
    follow = [f"{label} has {effect.value_text(label)}{_times(effect, label, leader)}" for label in named]
    if len(behind) >= MAX_NAMED:
        follow[-1] = f"{named[-1]}, the last of {len(ranking)}, {follow[-1].removeprefix(named[-1] + ' ')}"
    return f"{text}; {_list_text(follow)}."


def _is_undecided(effect: Effect) -> bool:
    """A statistic such as a 99th percentile has no interval for so few seeds, so that nothing tells whether a difference lasts."""
    leader, *others = effect.ranking
    return any(effect.differs_significantly(label, leader) is None for label in others)


def _is_behind(effect: Effect, label: str, leader: str) -> bool:
    apart = effect.differs_significantly(label, leader)
    return effect.times_worse(label, leader) > LEVEL if apart is None else apart


def _times(effect: Effect, label: str, leader: str) -> str:
    text = _distance_text(effect, label, leader)
    return f" ({text})" if text else ""


def _distance_text(effect: Effect, label: str, leader: str) -> str:
    """The distance of a group from a better one: "25 % more", "6.3 times"; empty where that is no number or nearly nothing."""
    times = effect.times_worse(label, leader)
    if times == float("inf") or times < LEVEL:
        return ""
    if effect.better == MORE:
        return f"{100 * (1 - 1 / times):.0f} % less" if times < TIMES_FROM else f"1/{times:.3g}"
    return f"{100 * (times - 1):.0f} % more" if times < TIMES_FROM else f"{times:.3g} times"


def _share_sentence(lead: Effect, made: Sequence[Effect]) -> list[str]:
    """The throughput of a flow across and of a flow inside under the first and the last of a ranking; nothing where there is one kind."""
    across, inside = (effects.find(made, f"flow_throughput/mean/{kind}") for kind in ("cross", "intra"))
    if across is None or inside is None:
        return []
    named = [
        label
        for label in dict.fromkeys((lead.ranking[0], lead.ranking[-1]))
        if label in across.ranking and label in inside.ranking
    ]
    parts = [f"{across.value_text(label)} under {label} (inside: {inside.value_text(label)})" for label in named]
    return [f"A flow across gets {_list_text(parts)}."] if parts else []


def _cost_sentence(leads: Sequence[Effect], made: Sequence[Effect]) -> list[str]:
    """The number by which the leader is worst off against the best, of those that no sentence has; that there is none."""
    leader = leads[0].ranking[0]
    scopes = {lead.scope for lead in leads if lead.scope != ALL}
    costs = []
    for effect in made:
        if effect in leads or effect.name not in _COSTS or leader not in effect.ranking:
            continue
        # A sentence has the slowdown of these flows already, and that of all flows is theirs together.
        if "FCT slowdown" in effect.name and (effect.scope in scopes or effect.scope == ALL):
            continue
        best = effect.ranking[0]
        times = effect.times_worse(leader, best)
        if times >= MIN_COST and _is_behind(effect, leader, best):
            costs.append((times, effect, best))
    if not costs:
        leads_all = all(lead.ranking[0] == leader for lead in leads)
        return [f"No other number is more than {100 * (MIN_COST - 1):.0f} % worse under {leader}."] if leads_all else []
    _, effect, best = max(costs, key=lambda cost: (cost[0], -_COSTS.index(cost[1].name)))
    place = _PLACES[effect.scope]
    where = f"{place}, " if place else ""
    apart = _distance_text(effect, leader, best)
    beside = f"{best} has {effect.value_text(best)}"
    # Nobody pays for a lead that is none.
    is_alone = all(_is_behind(leads[0], label, leader) for label in leads[0].ranking[1:])
    does = "pays for it" if is_alone else "is behind elsewhere"
    return [
        f"{leader} {does}: {where}{effect.name} {effect.value_text(leader)}{f', {apart}' if apart else ''}; {beside}."
    ]


def _select_numbers(leads: Sequence[Effect], made: Sequence[Effect]) -> list[Effect]:
    """Three effects: those that decide, then the longest queue, then goodput."""
    more = [effects.find(made, identifier) for identifier in ("queue/max/worst_port", "goodput", "jain")]
    return [*leads, *(effect for effect in more if effect is not None and effect not in leads)][:3]


def _key_number(effect: Effect, leader: str) -> KeyNumber:
    """An effect for the leader, beside the best and the worst of the others."""
    place = _PLACES[effect.scope]
    name = f"{effect.name}{f' {place}' if place else ''}"
    ranking = effect.ranking
    label = leader if leader in ranking else ranking[0]
    others = [other for other in (ranking[0], ranking[-1]) if other != label]
    return KeyNumber(
        name,
        f"{effect.value_text(label)}",
        f"{label}; " + ", ".join(f"{other} {effect.value_text(other)}" for other in dict.fromkeys(others)),
    )


def _one_group(label: str, runs: Sequence[RunNumbers]) -> tuple[tuple[str, ...], tuple[KeyNumber, ...]]:
    """Sentences and numbers of runs under one algorithm."""
    alone = _Alone({label: runs})
    made = effects.effects(alone)
    sentences, numbers = [], []
    for effect in (effect for effect in made if effect.identifier.startswith("iteration_time/")):
        job = effect.identifier.rpartition("/")[2]
        ideal = runs[0].numbers["jobs"][job].get("ideal_s")
        time = effect.estimate(label)
        beside = _ideal_text(time, ideal) if ideal else ""
        sentences.append(f"An iteration of {job} takes {time_text(time)}{beside}.")
        numbers.append(KeyNumber(effect.name, time_text(time), f"ideal network: {time_text(ideal)}" if ideal else ""))
        exposed = effects.find(made, f"exposed_communication_share/mean/{job}")
        more = _describe_job(
            runs[0].numbers["jobs"][job], None if exposed is None else (exposed.name, exposed.estimate(label))
        )
        sentences += more[0]
        numbers += more[1]
    for scope, place in (("intra", "inside"), ("cross", "across")):
        shown = next((effect for effect in made if effect.scope == scope and "FCT slowdown" in effect.name), None)
        if shown is None or (sentences and not runs[0].numbers["slowdown"][scope]):
            continue
        left = sum(int(run.numbers["unfinished"][scope]) for run in runs)
        begun = left + sum(int((run.numbers["slowdown"][scope] or {"flows": 0})["flows"]) for run in runs)
        done = f"all {begun:,}" if not left else f"{begun - left:,} of {begun:,}"
        sentences.append(f"{place.capitalize()}, {done} flows finished: {shown.name} {shown.value_text(label)}.")
        numbers.append(KeyNumber(f"{shown.name} {place}", shown.value_text(label), f"{done} flows finished"))
    if not sentences:
        rates = [effect for effect in made if effect.identifier.startswith("flow_throughput/mean/")]
        for effect in rates:
            place = _PLACES[effect.scope]
            sentences.append(f"{place.capitalize()}, a flow gets {effect.value_text(label)} on average.")
            numbers.append(KeyNumber(f"{effect.name} {place}", effect.value_text(label)))
        if jain := effects.find(made, "jain"):
            numbers.append(KeyNumber(jain.name, jain.value_text(label)))
    worst = runs[0].numbers["worst"]["max_queue"]
    if worst is not None:
        counts = [int(run.numbers["dropped"]) for run in runs if run.numbers["dropped"] is not None]
        dropped = sum(counts)
        lost = f"{dropped:,} packets were dropped" if dropped else "nothing was dropped" if counts else ""
        queue = bytes_text(float(worst["max_queue"]))
        sentences.append(f"The longest queue, {queue}, was at {worst['port']}{f'; {lost}' if lost else ''}.")
        numbers.append(KeyNumber("longest queue", queue, str(worst["port"])))
    return tuple(sentences or ("Nothing was sent.",)), tuple(numbers[:3])


def _entries(runs: Sequence[RunNumbers]) -> list[dict[str, Any]]:
    return [entry for run in runs for entry in limits.entries(run)]


def limit_sentence(opening: str, entries: Sequence[Mapping[str, Any]]) -> str:
    """The limit of the largest part of the flows' time, inside and across; nothing where an old output does not say.

    Args:
        opening: The beginning of the sentence, such as "Under cubic, ".
        entries: The times of the flows by limit, as `farloop.results.limits.entries` has them.
    """
    parts = []
    for kind, words in (("intra", "flows inside"), ("cross", "flows across")):
        shares = limits.shares_of([entry for entry in entries if entry["kind"] == kind])
        if shares:
            limit, share = next(iter(shares.items()))
            parts.append(
                f"{words} {_LIMITS.get(limit, f'are limited by {limit}')} for {100 * share:.0f} % of their time"
            )
    text = f"{opening}{' and '.join(parts)}."
    return text[:1].upper() + text[1:] if parts else ""


_LIMITS = {
    "path": "have all that their path leaves them",
    "host link": "wait for the link of their host",
    "last packets": "have sent everything, and wait for the last acknowledgement,",
    "slow start": "are in slow start",
    "recovery": "repair losses",
    "application": "wait for their application",
    "handshake": "open their connection",
    "pacing": "are limited by their pacing rate",
    "congestion window": "are limited by their congestion window",
    "receive window": "are limited by the receive window",
    "credit": "wait for credit",
    "segmentation offload": "wait for a whole chunk of segmentation offload",
}
"""Words for the state of flows under each limit."""


def _describe_job(job: Mapping[str, Any], exposed: tuple[str, float] | None) -> tuple[list[str], list[KeyNumber]]:
    """Sentences and numbers of a training job beside its time.

    Args:
        job: Its row of the summary.
        exposed: The name and the value of the part of the time in which its ranks do not compute.
    """
    sentences, numbers = [], []
    if exposed is not None and job.get("shares"):
        name, share = exposed
        on_their_way, waiting = (share_text(job["shares"][part]) for part in ("communication", "waiting"))
        sentences.append(
            f"For {share_text(share)} of that its ranks do not compute: for {on_their_way} messages are on their way to them, "
            f"for {waiting} they wait for others."
        )
        numbers.append(KeyNumber(name, share_text(share), f"messages on their way {on_their_way}, waiting {waiting}"))
    if across := job.get("bytes_across"):
        note = f"bytes of messages, 1/{job['scale']} of the job's" if job.get("scale", 1) > 1 else "bytes of messages"
        numbers.append(KeyNumber("across sites per iteration", bytes_text(float(across)), note))
    if job.get("scale", 1) > 1 and job.get("ideal_unscaled_s"):
        sentences.append(
            f"Its communication is 1/{job['scale']}, since its bytes are (`farloop scale` keeps it): with all bytes an ideal network takes "
            f"{time_text(job['ideal_unscaled_s'])}."
        )
    return sentences, numbers


def _ideal_text(time: float, ideal: float) -> str:
    times = time / ideal
    if times < LEVEL:
        return f", as on an ideal network ({time_text(ideal)})"
    return f", {times:.3g} times that on an ideal network ({time_text(ideal)})"


@dataclass(frozen=True)
class _Alone:
    """One group of runs as effects see it."""

    groups: dict[str, Sequence[RunNumbers]]
    seeds: tuple[int, ...] = ()

    @property
    def runs(self) -> Sequence[RunNumbers]:
        return [run for runs in self.groups.values() for run in runs]


def _list_text(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
