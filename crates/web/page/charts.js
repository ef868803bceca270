// Charts over time, small and side by side: a row for each question, a column for each algorithm, one scale for all of a row.

/** Most lines of a chart. */
const MAX_LINES = 8;

/** The rows of charts: title, what it says, unit, the lines of a run ([{name, time, value}]). */
const PANELS = [
  { id: "throughput", title: "Throughput", unit: "bit/s", about: "payload that receivers got, averaged between samples", lines: throughputLines },
  { id: "queue", title: "Queue", unit: "B", about: "data that waits at a port", none: "nothing waited", lines: (run) => portLines(run, "queue") },
  { id: "window", title: "Congestion window", unit: "B", about: "what a sender may have in flight", none: "sets none", lines: (run) => flowLines(run, "cwnd") },
  { id: "pacing", title: "Pacing rate", unit: "bit/s", about: "what a sender may put on the wire", none: "sets none", lines: (run) => flowLines(run, "pacing") },
  { id: "rtt", title: "Round-trip time", unit: "s", about: "latest sample of a sender", lines: (run) => flowLines(run, "rtt"), extra: true },
  { id: "fairness", title: "Fairness", unit: "", about: "Jain's index of the throughputs of active flows; 1 where all are equal", lines: fairnessLines, top: 1 },
  { id: "pfc", title: "PFC", unit: "", about: "part of the time for which a port was paused", none: "no pause", lines: (run) => portLines(run, "paused") },
  { id: "utilisation", title: "Utilisation", unit: "", about: "of a port's link", lines: (run) => portLines(run, "utilisation"), extra: true, top: 1 },
];

function throughputLines(run) {
  return flowLines(run, "throughput");
}

/** The flows' lines; of more flows than a chart holds the sums inside and across. */
function flowLines({ flows, ofFlows }, metric) {
  const has = ofFlows.filter((flow) => flow[metric] && flow[metric].value.some(Number.isFinite));
  if (has.length <= MAX_LINES) return has.map((flow) => ({ name: flow.name, ...flow[metric] }));
  const cross = new Map(flows.map((flow) => [flow.name, flow.cross_datacenter]));
  const groups = [["inside", 0], ["across", 1]].map(([name, which]) => [name, has.filter((flow) => cross.get(flow.name) === which)]);
  const together = metric === "throughput" ? "sum" : "mean";
  return groups.filter(([, group]) => group.length).map(([name, group]) => {
    const { time } = group[0][metric];
    const sums = time.map((_, at) => group.reduce((sum, flow) => sum + (flow[metric].value[at] ?? 0), 0));
    const value = together === "sum" ? sums : sums.map((sum) => sum / group.length);
    return { name: `${group.length} flows ${name}, ${together}`, time, value };
  });
}

/** The lines of the ports in which a metric is largest, where it is not always zero. */
function portLines({ ofPorts, ofWorst }, metric) {
  const known = new Set(ofPorts.map((port) => port.name));
  const all = [...ofPorts, ...ofWorst.filter((port) => !known.has(port.name))];
  const most = (port) => port[metric].value.reduce((a, b) => Math.max(a, b), 0);
  const has = all.filter((port) => port[metric]).map((port) => [most(port), port]).filter(([top]) => top > 0);
  has.sort(([a], [b]) => b - a);
  return has.slice(0, 5).map(([, port]) => ({ name: port.name, ...port[metric] }));
}

function fairnessLines(run) {
  const found = fairness(run);
  return found ? [{ name: "all flows", ...found }] : [];
}

/** Heights of a chart in px: on a phone two of them and the answer are on one screen. */
const HEIGHTS = { narrow: 130, wide: 170 };

/** Charts of several runs: `runs` is [{algorithm, digest}]; `wanted` lists ids of panels, else those that are no extra. */
class Charts {
  /** The first row of charts goes into `place`, the others into `more`. */
  constructor(place, more) {
    [this.place, this.more] = [place, more];
    this.plots = [];
    this.watched = new ResizeObserver(() => this.resize());
    this.watched.observe(place);
    theme.follow(() => this.show(this.runs || [], this.wanted));
  }

  show(runs, wanted) {
    [this.runs, this.wanted] = [runs, wanted];
    this.plots.forEach(({ plot }) => plot.destroy());
    this.plots = [];
    const chosen = PANELS.filter((panel) => (wanted ? wanted.includes(panel.id) : !panel.extra));
    // One colour for a name in all charts.
    const names = { flow: [], port: [] };
    const shown = chosen.map((panel) => this.panel(panel, runs, names)).filter(Boolean);
    this.place.replaceChildren(...shown.slice(0, 1));
    this.more.replaceChildren(...shown.slice(1));
    this.resize();
  }

  panel(panel, runs, names) {
    const lines = runs.map(({ digest }) => panel.lines(digest));
    const section = document.createElement("section");
    section.className = "panel";
    section.id = `panel-${panel.id}`;
    const title = document.createElement("h3");
    title.textContent = panel.title;
    const about = document.createElement("span");
    about.className = "about";
    about.textContent = ` ${panel.about}`;
    title.append(about);
    section.append(title);
    if (!lines.some((one) => one.length)) {
      if (panel.id !== "pfc" || !runs.length) return null;
      section.append(text("p", pausesElsewhere(runs), "quiet"));
      return section;
    }
    const top = panel.top || Math.max(...lines.flat().map(({ value }) => value.reduce((a, b) => (Number.isFinite(b) && b > a ? b : a), 0)));
    const end = Math.max(...lines.flat().map(({ time }) => time.at(-1) || 0));
    const kind = ["queue", "pfc", "utilisation"].includes(panel.id) ? "port" : "flow";
    const known = names[kind];
    lines.flat().forEach(({ name }) => { if (!known.includes(name)) known.push(name); });
    const row = document.createElement("div");
    row.className = "side-by-side";
    row.dataset.columns = runs.length;
    runs.forEach(({ algorithm }, at) => row.append(this.chart(panel, algorithm, lines[at], known, top * 1.04 || 1, end)));
    const seen = [...new Set(lines.flat().map(({ name }) => name))];
    section.append(row, legend(seen.map((name) => [name, colour(known.indexOf(name))])));
    return section;
  }

  chart(panel, algorithm, lines, known, top, end) {
    const figure = document.createElement("figure");
    const canvas = document.createElement("div");
    canvas.className = "chart";
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", said(panel, algorithm, lines));
    figure.append(text("figcaption", algorithm), canvas);
    if (!lines.length) {
      canvas.append(text("p", panel.none || "nothing to show", "quiet"));
      return figure;
    }
    const finite = (values) => values.map((one) => (Number.isFinite(one) ? one : null));
    const data = uPlot.join(lines.map(({ time, value }) => [time, finite(value)]));
    const ink = getComputedStyle(document.body).getPropertyValue("--quiet");
    const grid = { stroke: getComputedStyle(document.body).getPropertyValue("--line"), width: 1 };
    const axis = (unit, extra) => ({ stroke: ink, grid, ticks: grid, font: "12px system-ui, sans-serif", values: (_, list) => labels(list, unit), ...extra });
    const plot = new uPlot({
      width: 300, height: innerWidth < 600 ? HEIGHTS.narrow : HEIGHTS.wide, legend: { show: false }, cursor: { y: false, points: { size: 5 } },
      scales: { x: { time: false, range: [0, end] }, y: { range: [0, top] } },
      axes: [axis("s", { size: 34, space: 60 }), axis(panel.unit, { size: 78, space: 32 })],
      series: [{}, ...lines.map(({ name }) => ({ label: name, stroke: colour(known.indexOf(name)), width: 1.5, points: { show: false }, spanGaps: true }))],
    }, data, canvas);
    this.plots.push({ plot, canvas });
    return figure;
  }

  resize() {
    for (const { plot, canvas } of this.plots) {
      const width = Math.floor(canvas.clientWidth);
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: plot.height });
    }
  }
}

/** What is paused where no series tells of it. */
function pausesElsewhere(runs) {
  const of = ({ algorithm, digest }) => {
    const worst = digest.ports.reduce((most, port) => (port.pauses > most.pauses ? port : most));
    const number = worst.link > 1 ? `#${worst.link}` : "";
    return worst.pauses ? `${algorithm}: ${worst.node}->${worst.peer}${number} was paused ${worst.pauses} times, ${quantity(worst.paused_ps * PS, "s")} in all` : "";
  };
  const found = runs.map(of).filter(Boolean);
  return found.length ? `No port with a series was paused, but others: ${found.join("; ")} (record.ports).` : "No port was paused.";
}

/** Labels of an axis, with one prefix for all of them. */
function labels(list, unit) {
  if (!unit) return list.map((value) => String(value));
  const most = Math.max(...list.map(Math.abs));
  const prefixes = unit === "s" ? [["", 1], ["m", 1e-3], ["µ", 1e-6], ["n", 1e-9]] : [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]];
  const [prefix, size] = prefixes.find(([, one]) => most >= one) || prefixes.at(-1);
  return list.map((value) => (value === 0 ? "0" : `${Number((value / size).toPrecision(4))} ${prefix}${unit}`));
}

/** A chart in words, for those who do not see it: mean and last value of each line. */
function said(panel, algorithm, lines) {
  const one = ({ name, value }) => {
    const finite = value.filter(Number.isFinite);
    const mean = finite.reduce((a, b) => a + b, 0) / finite.length;
    const shown = (number) => (panel.unit ? quantity(number, panel.unit) : Number(number.toPrecision(3)));
    return finite.length ? `${name}: mean ${shown(mean)}, at the end ${shown(finite.at(-1))}` : `${name}: no value`;
  };
  return `${panel.title} with ${algorithm} over time. ${lines.length ? lines.map(one).join("; ") : "Nothing to show"}.`;
}

function legend(entries) {
  const list = document.createElement("ul");
  list.className = "legend";
  list.append(...entries.map(([name, shade]) => {
    const item = document.createElement("li");
    const dot = document.createElement("span");
    dot.className = "dot";
    dot.style.backgroundColor = shade;
    item.append(dot, name);
    return item;
  }));
  return list;
}

function text(tag, content, name) {
  const one = document.createElement(tag);
  one.textContent = content;
  if (name) one.className = name;
  return one;
}
