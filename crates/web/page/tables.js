// A run's tables as the charts want them.

const PS = 1e-12;
/** What stands for no number in a column of i64?. */
const NOTHING = -(2n ** 63n);

/** The values of a column as numbers (null: none) or texts. */
function column(table, name) {
  const { kind, values, words } = table[name];
  if (kind === "dict") return Array.from(values, (index) => words[index]);
  if (kind === "i64") return Array.from(values, Number);
  if (kind === "i64?") return Array.from(values, (n) => (n === NOTHING ? null : Number(n)));
  return Array.from(values);
}

/** The rows of a table as objects. */
function rows(table) {
  const names = Object.keys(table);
  const columns = names.map((name) => column(table, name));
  const length = columns.length ? columns[0].length : 0;
  return Array.from({ length }, (_, row) => Object.fromEntries(names.map((name, at) => [name, columns[at][row]])));
}

/** The series by object and metric: {time: seconds, value}. */
function seriesOf(table) {
  const found = new Map();
  const { object, metric } = table;
  const time = table.time_ps.values;
  const value = table.value.values;
  for (let row = 0; row < value.length; row++) {
    const name = object.words[object.values[row]];
    let metrics = found.get(name);
    if (!metrics) found.set(name, (metrics = {}));
    const what = metric.words[metric.values[row]];
    const series = metrics[what] || (metrics[what] = { time: [], value: [] });
    series.time.push(Number(time[row]) * PS);
    series.value.push(value[row]);
  }
  return found;
}

/** Jain's fairness index of some rates: 1 where all are equal, 1/n where one has all. */
function jain(rates) {
  const sum = rates.reduce((a, b) => a + b, 0);
  const squares = rates.reduce((a, b) => a + b * b, 0);
  return squares > 0 ? (sum * sum) / (rates.length * squares) : null;
}

/** What a run comes to, for charts and the table: flows, series by kind, totals. */
function digest(answer) {
  const flows = rows(answer.tables.flows);
  const series = seriesOf(answer.tables.series);
  const of = (kind) =>
    [...series].filter(([name]) => name.startsWith(`${kind}/`)).map(([name, metrics]) => ({ name: name.slice(kind.length + 1), ...metrics }));
  const ports = rows(answer.tables.ports);
  const iterations = rows(answer.tables.iterations);
  return { flows, ports, iterations, ofFlows: of("flow"), ofPorts: of("port"), ofWorst: of("worst"), totals: answer.totals, wall: answer.wall, notes: answer.notes };
}

/** Fairness over time among the flows that are active: Jain's index of their throughput in each interval. */
function fairness({ flows, ofFlows }) {
  if (ofFlows.length < 2) return null;
  const known = new Map(flows.map((flow) => [flow.name, flow]));
  const time = ofFlows[0].throughput.time;
  const value = time.map((at, index) => {
    const active = ofFlows.filter(({ name }) => {
      const flow = known.get(name);
      const end = flow.finish_ps ?? flow.stop_ps ?? Infinity;
      return flow.start_ps !== null && flow.start_ps * PS < at && end * PS >= at;
    });
    return active.length > 1 ? jain(active.map((flow) => flow.throughput.value[index] ?? 0)) : null;
  });
  return value.some((one) => one !== null) ? { time, value } : null;
}

/** The value at a part of sorted numbers, between two of them by linear interpolation, as all of farloop's quantiles. */
function quantile(sorted, part) {
  const at = (sorted.length - 1) * part;
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

/** Flows of a kind from which on their 99th percentile is a number of its own; of fewer the mean is, as in the package's comparisons. */
const MIN_FLOWS = 20;

/** Delivered payload of a flow over the time that it was active, in bit/s. */
function rateOf(flow, { end_s: end }) {
  const until = (flow.received_ps ?? Math.min(end / PS, flow.stop_ps ?? Infinity)) * PS;
  const time = until - flow.start_ps * PS;
  return flow.start_ps !== null && time > 0 ? (8 * flow.delivered_bytes) / time : 0;
}

/** Flows with a size that had begun. */
function begunFlows({ flows, totals }) {
  return flows.filter((flow) => flow.size_bytes !== null && flow.start_ps !== null && flow.start_ps * PS < totals.end_s);
}

/** FCT slowdowns of flows with a size that had begun, sorted; an unfinished flow counts with its age, a lower bound. */
function boundedSlowdowns(flows, { end_s: end }) {
  const until = (flow) => flow.received_ps ?? Math.max(end / PS, flow.start_ps + flow.ideal_fct_ps);
  return flows.filter((flow) => flow.ideal_fct_ps > 0).map((flow) => (until(flow) - flow.start_ps) / flow.ideal_fct_ps).sort((a, b) => a - b);
}

/** A run's numbers by the identifiers of their measures, which measures.json defines; without those that do not exist. */
function measured(run) {
  const { flows, ports, iterations, totals } = run;
  const found = new Map();
  const rate = (flow) => rateOf(flow, totals);
  const begun = begunFlows(run);
  const endless = flows.filter((flow) => flow.size_bytes === null && flow.start_ps !== null);
  const times = iterations.filter((iteration) => iteration.time_ps !== null).map((iteration) => iteration.time_ps * PS);
  if (times.length) found.set("iteration_time/mean", mean(times));
  for (const [kind, cross] of [["intra", 0], ["cross", 1]]) {
    const own = (list) => list.filter((flow) => flow.cross_datacenter === cross);
    const rates = own(flows).map(rate);
    if (rates.length) found.set(`flow_throughput/mean/${kind}`, mean(rates));
    // Where all are endless this is the number above.
    if (begun.length && own(endless).length) found.set(`flow_throughput/mean/${kind}/endless`, mean(own(endless).map(rate)));
    const slow = boundedSlowdowns(own(begun), totals);
    if (slow.length >= MIN_FLOWS) found.set(`fct_slowdown/p99/${kind}/begun`, quantile(slow, 0.99));
    else if (slow.length) found.set(`fct_slowdown/mean/${kind}/begun`, mean(slow));
  }
  const fair = jain(flows.map(rate));
  if (fair !== null) found.set("jain", fair);
  const finished = flows.filter((flow) => flow.received_ps !== null && flow.ideal_fct_ps > 0);
  const slow = finished.map((flow) => (flow.received_ps - flow.start_ps) / flow.ideal_fct_ps).sort((a, b) => a - b);
  found.set("flows", flows.length);
  if (slow.length) {
    found.set("fct_slowdown/p50/finished", quantile(slow, 0.5));
    found.set("fct_slowdown/p99/finished", quantile(slow, 0.99));
  }
  found.set("flows/finished", slow.length);
  found.set("queue/max/worst_port", Math.max(0, ...ports.map((port) => port.max_queue_bytes)));
  found.set("pauses", sum(ports.map((port) => port.pauses)));
  const counted = (begins) => sum(Object.entries(totals).filter(([name]) => begins.test(name)).map(([, n]) => n));
  found.set("dropped", counted(/^dropped_/));
  found.set("lost", counted(/^(lost|corrupted)/));
  found.set("packet_hops", totals.packet_hops);
  return found;
}

function sum(values) {
  return values.reduce((a, b) => a + b, 0);
}

function mean(values) {
  return sum(values) / values.length;
}

/** A measure's value with its unit. */
function writeValue(value, unit) {
  const texts = { "bit/s": () => quantity(value, "bit/s"), B: () => quantity(value, "B"), s: () => quantity(value, "s"), 1: () => value.toFixed(3) };
  return (texts[unit] ?? (() => whole(value)))();
}

/** Numbers of the table: label, value as a text, definition. */
function numbers(run, declared) {
  const found = measured(run);
  return declared
    .filter(({ measure }) => found.has(measure))
    .map(({ measure, label, unit, definition }) => [label, writeValue(found.get(measure), unit), definition])
    .concat([["Seconds of simulating", (run.wall / 1000).toFixed(2), "Time that the run took in this page."]]);
}
