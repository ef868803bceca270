// The answer of runs in a few sentences, made of their numbers by rules. Words and definitions are those of measures.json and of the package's
// headlines (python/farloop/results/headline.py), and all numbers are of one seed, which no sentence takes for more.

/** Ratios of mean throughputs, across over inside, that count as even shares. */
const EVEN = [0.8, 1.25];
/** Jain's index below which shares are uneven, whatever the means of both kinds of flows are. */
const MIN_FAIR = 0.95;
/** A flow that gets less than this part of what the others get is starved. */
const STARVED_BELOW = 0.25;
/** A queue that takes more than this many of the shortest round trips to drain is named as what even shares cost. */
const LONG_QUEUE_RTTS = 4;
/** The part of its rate from which on a link counts as full. */
const FULL = 0.9;
/** Numbers that are no further apart than this ratio are level. */
const LEVEL = 1.02;
/** The ratio to the best from which on a number of the leader is named as a cost. */
const MIN_COST = 1.1;
/** Ratios from which on sentences say how many times, and no percentage. */
const TIMES_FROM = 2;

const PLACES = { intra: "inside", cross: "across" };

/** The answer of runs ([{subject, digest}]) of a resolved scenario, as a list of sentences. */
function makeAnswer(runs, resolved) {
  const all = runs.map((run) => collectFacts(run, resolved));
  if (all.length === 1) return answerAlone(all[0]);
  const compared = leadSentences(all);
  return [...compared.sentences, ...costSentence(compared.leads, all), ONE_SEED];
}

const ONE_SEED = "This is one seed; --seeds 1-10 in the shell tells which differences last.";

/** The numbers of a run that sentences need. */
function collectFacts({ subject, digest }, resolved) {
  const { flows, ports, totals } = digest;
  const found = measured(digest);
  const begun = begunFlows(digest);
  const started = flows.filter((flow) => flow.start_ps !== null && flow.start_ps * PS < totals.end_s);
  const kinds = Object.entries({ intra: 0, cross: 1 }).map(([kind, cross]) => {
    const own = (list) => list.filter((flow) => flow.cross_datacenter === cross);
    const sized = own(begun);
    return { kind, flows: own(started), rates: own(started).map((flow) => rateOf(flow, totals)), begun: sized, finished: sized.filter((flow) => flow.received_ps !== null).length };
  }).filter((one) => one.flows.length);
  const worst = ports.reduce((most, port) => (port.max_queue_bytes > (most?.max_queue_bytes ?? 0) ? port : most), null);
  return {
    subject, found, kinds, begun, worst, end: totals.end_s, jobs: collectJobs(digest, resolved),
    rates: started.map((flow) => rateOf(flow, totals)),
    rtt: Math.min(...flows.map((flow) => flow.base_rtt_ps * PS)),
    busiest: Math.max(0, ...ports.map((port) => (8 * port.tx_bytes) / (port.rate_bps * totals.end_s))),
    goodput: (8 * sum(flows.map((flow) => flow.delivered_bytes))) / totals.end_s,
    unfinished: begun.filter((flow) => flow.received_ps === null).length,
    paused: sum(ports.map((port) => port.paused_ps * PS)),
  };
}

/** Times of iterations of jobs, and of rounds of collectives: [{name, times, of, ideal}], in s. */
function collectJobs({ flows, iterations }, resolved) {
  const names = [...new Set(iterations.map((iteration) => iteration.job))];
  const jobs = names.map((name) => {
    const own = iterations.filter((iteration) => iteration.job === name);
    const times = own.filter((iteration) => iteration.time_ps !== null).map((iteration) => iteration.time_ps * PS);
    return { name, times, of: own.length, ideal: own[0].ideal_ps === null ? null : own[0].ideal_ps * PS };
  });
  const workloads = [resolved?.workload ?? []].flat().filter((workload) => workload.pattern === "all-reduce");
  const rounds = workloads.map((workload, at) => {
    const name = workload.name && workload.name !== "none" ? workload.name : `all-reduce-${at + 1}`;
    const times = Array.from({ length: workload.rounds }, (_, round) => {
      const own = flows.filter((flow) => flow.name.startsWith(`${name}-${round + 1}-`));
      if (!own.length || own.some((flow) => flow.received_ps === null)) return null;
      return (Math.max(...own.map((flow) => flow.received_ps)) - Math.min(...own.map((flow) => flow.start_ps))) * PS;
    });
    return { name, times: times.filter((time) => time !== null), of: workload.rounds, ideal: null };
  });
  return [...jobs, ...rounds];
}

/** One run: what came of its jobs, of its flows with a size, or of the shares of its endless flows; then what it cost. */
function answerAlone(facts) {
  if (facts.jobs.length) return [...facts.jobs.map((job) => jobSentence(facts, job)), costAlone(facts)];
  if (facts.begun.length) return [...completionSentences(facts), ...endlessSentence([facts]), costAlone(facts)];
  if (!facts.rates.length) return [`No flow began in the ${quantity(facts.end, "s")} simulated.`];
  const share = describeShare(facts);
  if (!share.even || !isLongQueue(facts)) return [`${facts.subject} ${share.text}.`, costAlone(facts)];
  const { queue, drain, port } = describeQueue(facts);
  return [`${facts.subject} ${share.text}, but keeps a queue of up to ${queue} at ${port}, ${drain} of waiting; ${lossesText(facts)}.`];
}

function jobSentence({ subject, end }, { name, times, of, ideal }) {
  if (!times.length) return `Under ${subject}, no iteration of ${name} was over in the ${quantity(end, "s")} simulated.`;
  const time = mean(times);
  const factor = ideal ? time / ideal : null;
  const beside = !factor ? "" : factor < LEVEL ? `, as on an ideal network (${quantity(ideal, "s")})` : `, ${digits(factor)} times that on an ideal network (${quantity(ideal, "s")})`;
  const missing = times.length < of ? `; ${times.length} of ${of} were over` : "";
  return `Under ${subject}, an iteration of ${name} takes ${quantity(time, "s")}${beside}${missing}.`;
}

/** A sentence for each kind of flows with a size: how many finished, and how much slower than alone in the empty network. */
function completionSentences({ subject, kinds, found, end }) {
  const sized = kinds.filter((one) => one.begun.length);
  if (sized.every((one) => !one.finished)) {
    const count = sum(sized.map((one) => one.begun.length));
    return [`Under ${subject}, none of ${whole(count)} flows finished in the ${quantity(end, "s")} simulated.`];
  }
  return sized.map(({ kind, begun, finished }) => {
    const done = finished === begun.length ? `all ${whole(begun.length)}` : `${whole(finished)} of ${whole(begun.length)}`;
    const { name, value } = findSlowdown(found, kind);
    const bound = finished < begun.length ? "at least " : "";
    return `Under ${subject}, ${done} flows ${PLACES[kind]} finished: ${name} ${bound}${value.toFixed(3)}.`;
  });
}

/** The number that compares flows of a kind with a size: the 99th percentile of their slowdown, of few flows the mean. */
function findSlowdown(found, kind) {
  const [measure, name] = found.has(`fct_slowdown/p99/${kind}/begun`) ? [`fct_slowdown/p99/${kind}/begun`, "p99 FCT slowdown"] : [`fct_slowdown/mean/${kind}/begun`, "mean FCT slowdown"];
  return { name, value: found.get(measure) };
}

/** What endless flows beside others get, in one run or in several. */
function endlessSentence(all) {
  const parts = Object.entries(PLACES).flatMap(([kind, place]) => {
    const has = all.filter(({ found }) => found.has(`flow_throughput/mean/${kind}/endless`));
    const gets = has.map(({ subject, found }) => `${quantity(found.get(`flow_throughput/mean/${kind}/endless`), "bit/s")} under ${subject}`);
    return gets.length ? [`an endless flow ${place} gets ${joinWords(gets)}`] : [];
  });
  return parts.length ? [`Beside them, ${joinWords(parts)}.`] : [];
}

/** How one run's endless flows share: {text, even, rank}; text goes behind an algorithm's name, and the highest rank is the evenest. */
function describeShare(facts) {
  const { kinds, rates, found, busiest } = facts;
  const fairness = found.get("jain") ?? 0;
  if (!rates.some((rate) => rate > 0)) return { text: `delivers nothing in the ${quantity(facts.end, "s")} simulated`, even: false, rank: 0 };
  if (rates.length === 1) {
    const unused = busiest < FULL ? `, and uses ${percent(busiest)} of its busiest link` : "";
    return { text: `gives the one flow, ${PLACES[kinds[0].kind]}, ${quantity(rates[0], "bit/s")}${unused}`, even: false, rank: rates[0] };
  }
  const index = `Jain's index ${fairness.toFixed(3)}`;
  if (kinds.length === 2) {
    const ratio = mean(kinds[1].rates) / mean(kinds[0].rates);
    const poor = ratio < 1 ? kinds[1] : kinds[0];
    const does = Math.min(ratio, 1 / ratio) < STARVED_BELOW ? `starves ${nameFlows(poor)}` : `gives ${nameFlows(poor)} less`;
    if (ratio < EVEN[0] || ratio > EVEN[1]) return { text: `${does}: ${writePart(sum(poor.rates), sum(rates))}`, even: false, rank: fairness };
  }
  const even = fairness >= MIN_FAIR;
  if (even) return { text: `shares evenly (${index})`, even, rank: fairness };
  const starved = rates.filter((rate) => rate < STARVED_BELOW * mean(rates)).length;
  if (starved) return { text: `starves ${starved} of ${rates.length} flows (${index})`, even, rank: fairness };
  return { text: `shares unevenly (${index})`, even, rank: fairness };
}

function nameFlows({ kind, rates }) {
  return rates.length === 1 ? `the flow ${PLACES[kind]}` : `the ${rates.length} flows ${PLACES[kind]}`;
}

/** A part of a whole with one unit: 1.03 of 9.38 Gbit/s. */
function writePart(part, all) {
  const [number, unit] = quantity(all, "bit/s").split(" ");
  return `${Number((part * (Number(number) / all)).toPrecision(3))} of ${number} ${unit}`;
}

function describeQueue({ worst }) {
  const drain = (8 * worst.max_queue_bytes) / worst.rate_bps;
  const number = worst.link > 1 ? `#${worst.link}` : "";
  return { queue: quantity(worst.max_queue_bytes, "B"), drain: quantity(drain, "s"), seconds: drain, port: `${worst.node}->${worst.peer}${number}` };
}

function isLongQueue(facts) {
  return facts.worst !== null && describeQueue(facts).seconds > LONG_QUEUE_RTTS * facts.rtt;
}

/** The longest queue and what was lost. */
function costAlone(facts) {
  if (!facts.worst) return `No queue built up; ${lossesText(facts)}.`;
  const { queue, drain, port } = describeQueue(facts);
  return `The longest queue, ${queue}, was at ${port} (${drain} of waiting); ${lossesText(facts)}.`;
}

function lossesText({ found }) {
  const counts = [["dropped", "packets were dropped"], ["lost", "packets were lost on links"], ["pauses", "times PFC paused a port"]];
  const parts = counts.filter(([measure]) => found.get(measure) > 0).map(([measure, words]) => `${whole(found.get(measure))} ${words}`);
  return parts.length ? joinWords(parts) : "nothing was dropped";
}

/** Who leads in what, in sentences, and the numbers that they are about. */
function leadSentences(all) {
  const [first] = all;
  if (first.jobs.length) {
    const leads = first.jobs.slice(0, 2).map(({ name }, at) => {
      const times = (facts) => facts.jobs[at]?.times ?? [];
      return { name: `iteration time of ${name}`, opening: "", better: -1, text: (value) => quantity(value, "s"), of: (facts) => (times(facts).length ? mean(times(facts)) : Infinity), unknown: "no iteration over" };
    });
    return { leads, sentences: leads.map((lead) => leadSentence(lead, all)) };
  }
  if (all.some((facts) => facts.begun.length)) {
    const kinds = Object.keys(PLACES).reverse().filter((kind) => all.every(({ found }) => findSlowdown(found, kind).value !== undefined));
    const leads = kinds.map((kind) => {
      const bounded = ({ kinds: own }) => own.some((one) => one.kind === kind && one.finished < one.begun.length);
      const { name } = findSlowdown(first.found, kind);
      return { name, opening: PLACES[kind], better: -1, bounded, text: (value, facts) => `${bounded(facts) ? "at least " : ""}${value.toFixed(3)}`, of: ({ found }) => findSlowdown(found, kind).value };
    });
    const none = all.every((facts) => facts.kinds.every((one) => !one.finished));
    if (none) return { leads: [], sentences: [`No flow finished in the ${quantity(first.end, "s")} simulated under any of them.`] };
    return { leads, sentences: [...leads.map((lead) => leadSentence(lead, all)), ...endlessSentence(all)] };
  }
  if (all.every(({ rates }) => !rates.length)) return { leads: [], sentences: [`No flow began in the ${quantity(first.end, "s")} simulated.`] };
  if (first.rates.length === 1) {
    const lead = { name: "throughput of the flow", opening: "", better: 1, text: (value) => quantity(value, "bit/s"), of: ({ rates }) => rates[0] ?? 0 };
    return { leads: [lead], sentences: [leadSentence(lead, all)] };
  }
  const ranked = all.map((facts) => [describeShare(facts), facts]).sort(([a], [b]) => b.rank - a.rank);
  const indices = [...new Set(ranked.map(([, { found }]) => (found.get("jain") ?? 0).toFixed(3)))];
  const clauses = ranked.every(([share]) => share.even)
    ? [`${joinWords(ranked.map(([, { subject }]) => subject))} share evenly (Jain's index ${joinWords(indices)})`]
    : ranked.map(([share, { subject }]) => `${subject} ${share.text}`);
  return { leads: [{ name: "Jain's index", better: 1, of: (facts) => facts.found.get("jain") ?? 0 }], sentences: [`${clauses.join("; ")}.`] };
}

function rankBy({ of, better }, all) {
  return [...all].sort((a, b) => better * (of(b) - of(a)));
}

/** How many times worse a number is than another one, 1 or more where it is. */
function divideWorse({ of, better }, facts, than) {
  const [above, below] = better > 0 ? [of(than), of(facts)] : [of(facts), of(than)];
  return below === 0 ? (above === 0 ? 1 : Infinity) : above / below;
}

function leadSentence(lead, all) {
  const [leader, ...others] = rankBy(lead, all);
  const text = (facts) => (Number.isFinite(lead.of(facts)) ? lead.text(lead.of(facts), facts) : lead.unknown);
  const opening = lead.opening ? `${capital(lead.opening)}, ` : "";
  if (!Number.isFinite(lead.of(leader))) return `${opening}${lead.name}: ${lead.unknown} under any of them.`;
  if (lead.bounded?.(leader)) {
    const each = [leader, ...others].map((facts) => `${text(facts)} under ${facts.subject}`);
    const sentence = `${opening}no order is known, because flows under ${leader.subject} did not finish: ${lead.name} ${joinWords(each)}.`;
    return capital(sentence);
  }
  const level = others.filter((facts) => divideWorse(lead, facts, leader) <= LEVEL);
  const behind = others.filter((facts) => !level.includes(facts));
  const begin = level.length
    ? `${opening}${joinWords([leader, ...level].map(({ subject }) => subject))} are level: ${lead.name} ${joinWords([...new Set([leader, ...level].map(text))])}`
    : `${opening}${leader.subject} leads: ${lead.name} ${text(leader)}`;
  if (!behind.length) return `${begin}.`;
  const follow = behind.map((facts) => `${facts.subject} has ${text(facts)}${apart(lead, facts, leader)}`);
  return `${begin}; ${joinWords(follow)}.`;
}

/** The distance of a number from a better one: " (25 % more)", " (6.3 times)"; empty where that is no number. */
function apart(lead, facts, than) {
  const times = divideWorse(lead, facts, than);
  if (!Number.isFinite(times) || times < LEVEL) return "";
  if (lead.better > 0) return times < TIMES_FROM ? ` (${percent(1 - 1 / times)} less)` : ` (1/${digits(times)})`;
  return times < TIMES_FROM ? ` (${percent(times - 1)} more)` : ` (${digits(times)} times)`;
}

/** Numbers that can be a cost of the leader; those first that are named first where costs are equal. */
const COSTS = [
  { name: "goodput", better: 1, of: ({ goodput }) => goodput, text: (value) => quantity(value, "bit/s") },
  { name: "longest queue", better: -1, of: ({ found }) => found.get("queue/max/worst_port"), text: (value) => quantity(value, "B") },
  { name: "unfinished flows", better: -1, of: ({ unfinished }) => unfinished, text: whole },
  { name: "dropped packets", better: -1, of: ({ found }) => found.get("dropped"), text: whole },
  { name: "time paused by PFC", better: -1, of: ({ paused }) => paused, text: (value) => quantity(value, "s") },
];

/** The number by which the leader is worst off against the best, or that there is none. */
function costSentence(leads, all) {
  if (!leads.length) return [];
  const [leader, second] = rankBy(leads[0], all);
  if (leads[0].bounded?.(leader)) return [];
  // Who is level with others leads nobody.
  const level = divideWorse(leads[0], second, leader) <= LEVEL;
  const costs = COSTS.flatMap((cost) => {
    const [best] = rankBy(cost, all);
    const times = divideWorse(cost, leader, best);
    return times >= MIN_COST ? [{ cost, best, times }] : [];
  });
  const [worst] = costs.sort((a, b) => b.times - a.times);
  if (!worst) return [`No other number is more than ${percent(MIN_COST - 1)} worse under ${leader.subject}.`];
  const { cost, best } = worst;
  const has = `${cost.name} ${cost.text(cost.of(leader))}${apart(cost, leader, best).replace(/[()]/g, "").replace(/^ /, ", ")}`;
  return [`${leader.subject} ${level ? "is behind elsewhere" : "pays for it"}: ${has}; ${best.subject} has ${cost.text(cost.of(best))}.`];
}

function digits(value) {
  return String(Number(value.toPrecision(3)));
}

function percent(share) {
  return `${Math.round(100 * share)}\u00a0%`;
}

function joinWords(words) {
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words[0];
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}
