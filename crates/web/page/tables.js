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
  return { flows, ports, ofFlows: of("flow"), ofPorts: of("port"), ofWorst: of("worst"), totals: answer.totals, wall: answer.wall, notes: answer.notes };
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

/** Numbers of the table below the charts: label, value as a text. */
function numbers(run) {
  const { flows, totals } = run;
  const end = totals.end_s;
  const goodput = (flow) => {
    const until = Math.min(end, (flow.finish_ps ?? flow.stop_ps ?? end / PS) * PS);
    const time = until - (flow.start_ps ?? 0) * PS;
    return time > 0 ? (8 * flow.delivered_bytes) / time : 0;
  };
  const mean = (list) => list.reduce((a, b) => a + b, 0) / list.length;
  const of = (cross) => flows.filter((flow) => flow.cross_datacenter === cross);
  const long = flows.every((flow) => flow.size_bytes === null);
  const found = [];
  for (const [label, group] of [["inside", of(0)], ["across", of(1)]]) {
    if (group.length) found.push([`Goodput of a flow ${label}, mean`, quantity(mean(group.map(goodput)), "bit/s")]);
  }
  if (long && flows.length > 1) found.push(["Fairness (Jain's index) of goodputs", jain(flows.map(goodput)).toFixed(3)]);
  const slow = flows.filter((flow) => flow.received_ps !== null && flow.ideal_fct_ps).map((flow) => (flow.received_ps - flow.start_ps) / flow.ideal_fct_ps);
  if (slow.length) {
    slow.sort((a, b) => a - b);
    found.push(["Flows finished", `${slow.length} of ${flows.length}`]);
    found.push(["FCT slowdown, median", slow[Math.floor((slow.length - 1) / 2)].toFixed(2)]);
    found.push(["FCT slowdown, 99th percentile", slow[Math.ceil(0.99 * slow.length) - 1].toFixed(2)]);
  }
  const longest = run.ports.reduce((most, port) => Math.max(most, port.max_queue_bytes), 0);
  found.push(["Longest queue", quantity(longest, "B")]);
  found.push(["PFC pauses", whole(run.ports.reduce((sum, port) => sum + port.pauses, 0))]);
  const dropped = Object.entries(totals).filter(([name]) => name.startsWith("dropped_") || name.startsWith("lost") || name === "corrupted");
  found.push(["Packets dropped or lost", whole(dropped.reduce((sum, [, n]) => sum + n, 0))]);
  found.push(["Packet-hops", `${(totals.packet_hops / 1e6).toFixed(2)} M in ${(run.wall / 1000).toFixed(2)} s`]);
  return found;
}
