// Draws the map of the network from the data beside it: one path per direction of a link, coloured and widened by what is chosen.
(() => {
  const box = document.getElementById("map");
  const data = JSON.parse(document.getElementById("map-data").textContent);
  const svg = box.querySelector("svg"), tip = box.querySelector(".tip"), legend = box.querySelector(".legend");
  const controls = box.querySelector(".controls");
  const NS = "http://www.w3.org/2000/svg";
  const state = { run: 0, metric: 0, frame: -1 };
  let lanes = [], marks = [];

  const element = (name, attributes, parent) => {
    const made = document.createElementNS(NS, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    parent.appendChild(made);
    return made;
  };
  const three = (x) => (x === 0 ? "0" : String(Number(x.toPrecision(3))));
  const scaled = (x, steps) => {
    for (const [factor, unit] of steps) if (Math.abs(x) >= factor) return three(x / factor) + " " + unit;
    const [factor, unit] = steps[steps.length - 1];
    return three(x / factor) + " " + unit;
  };
  const shown = (x, unit) =>
    unit === "share" ? three(100 * x) + " %" : unit === "bytes" ? scaled(x, [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]) : three(x);
  const time = (x) => scaled(x, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]);
  const unpack = (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  };
  const frames = data.runs.map((run) => {
    const unpacked = {};
    for (const key in run.frames) unpacked[key] = unpack(run.frames[key]);
    return unpacked;
  });
  const position = data.runs.map((run) => new Map(run.recorded.map((direction, i) => [direction, i])));

  // The value of one direction of a link now; null where no series was recorded.
  const value = (direction, key) => {
    const run = data.runs[state.run];
    if (state.frame < 0) return run.totals[key][direction];
    const row = position[state.run].get(direction);
    const recorded = frames[state.run][key];
    return row === undefined || !recorded ? null : recorded[row * run.times.length + state.frame];
  };
  // Over several seeds: the least and the most, of the whole run.
  const spread = (direction, key, unit) => {
    const of = data.runs[state.run].spread;
    if (!of || state.frame >= 0) return "";
    const [low, high] = [of[key][0][direction], of[key][1][direction]];
    return ` <span class="soft">(${shown(low, unit)} to ${shown(high, unit)})</span>`;
  };
  // When a link was down that is so now: all of it over the whole run.
  const downtimes = (edge) => {
    const run = data.runs[state.run], found = run.failed.find(([number]) => number === edge);
    if (!found) return [];
    if (state.frame < 0) return found[1];
    const since = state.frame > 0 ? run.times[state.frame - 1] : 0, until = run.times[state.frame];
    return found[1].filter(([begin, end]) => begin < until && end > since);
  };
  // One scale for all runs: what is compared must look alike where it is alike.
  const highest = (metric) => {
    if (metric.key === "load") return 1;
    let most = 0;
    data.runs.forEach((run, i) => {
      const values = state.frame < 0 ? run.totals[metric.key] : frames[i][metric.key] || [];
      for (const v of values) if (v > most) most = v;
    });
    return most;
  };
  const hex = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  const heat = (share) => {
    const at = Math.min(1, share) * (data.colours.length - 1), low = Math.min(Math.floor(at), data.colours.length - 2);
    const [a, b] = [hex(data.colours[low]), hex(data.colours[low + 1])];
    return "rgb(" + a.map((v, i) => Math.round(v + (b[i] - v) * (at - low))).join(",") + ")";
  };

  const scale = (network) => {
    const slot = Math.max(9, Math.min(70, 1080 / network.width));
    return { slot, row: 88, x: (x) => x * slot, y: (y) => y * 88 };
  };

  function draw() {
    const network = data.networks[data.runs[state.run].network], size = scale(network);
    const width = network.width * size.slot, height = network.height * size.row + 34;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 -26 ${width} ${height}`);
    svg.style.minWidth = Math.min(width, Math.max(620, network.width * 9)) + "px";
    svg.style.maxWidth = Math.max(width, 700) + "px";
    const places = network.places.map(([name, kind, datacenter, x, y, hosts]) => ({ name, kind, datacenter, hosts, x: size.x(x), y: size.y(y) }));
    headings(places);
    const drawn = element("g", { fill: "none", "stroke-linecap": "round" }, svg), hits = element("g", { fill: "none" }, svg);
    lanes = [];
    marks = [];
    network.edges.forEach((edge, i) => {
      const [a, b] = [places[edge[0]], places[edge[1]]];
      const length = Math.hypot(b.x - a.x, b.y - a.y) || 1, gap = size.slot < 14 ? 0.8 : 1.8;
      const [nx, ny] = [(-(b.y - a.y) / length) * gap, ((b.x - a.x) / length) * gap];
      const path = (sign) => {
        const from = [a.x + sign * nx, a.y + sign * ny], to = [b.x + sign * nx, b.y + sign * ny];
        const middle = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2 - 2 * edge[5] * size.row];
        return edge[5] ? `M${from} Q${middle} ${to}` : `M${from} L${to}`;
      };
      // Traffic keeps to the right of its direction, so that the two lanes stay apart.
      lanes.push(element("path", { d: path(1) }, drawn), element("path", { d: path(-1) }, drawn));
      const hit = element("path", { d: path(0), stroke: "transparent", "stroke-width": size.slot < 14 ? 5 : 12, "pointer-events": "stroke" }, hits);
      hover(hit, () => linkText(network, edge, i));
      if (!data.runs[state.run].failed.some(([number]) => number === i)) return;
      const [x, y] = [(a.x + b.x) / 2, (a.y + b.y) / 2 - edge[5] * size.row], r = size.slot < 14 ? 4 : 7;
      const cross = { d: `M${x - r},${y - r}l${2 * r},${2 * r}M${x - r},${y + r}l${2 * r},${-2 * r}`, stroke: data.failed, "stroke-width": 2.6 };
      marks.push([i, element("path", { ...cross, "stroke-linecap": "round", "pointer-events": "none", class: "failed" }, svg)]);
    });
    places.forEach((place, i) => node(place, i, network, size));
    colour();
  }

  function headings(places) {
    const spans = new Map();
    for (const p of places) {
      if (p.datacenter === null) continue;
      const s = spans.get(p.datacenter) || { left: p.x, right: p.x, top: p.y };
      spans.set(p.datacenter, { left: Math.min(s.left, p.x), right: Math.max(s.right, p.x), top: Math.min(s.top, p.y) });
    }
    const crowded = spans.size > 8;
    if (spans.size < 2 || crowded) return;
    for (const [datacenter, s] of spans) {
      const wide = ("datacenter " + datacenter).length * 3.6;
      const label = element("text", { x: Math.max(wide, (s.left + s.right) / 2), y: s.top - 34, "text-anchor": "middle", class: "place" }, svg);
      label.textContent = "datacenter " + datacenter;
    }
  }

  function node(place, i, network, size) {
    const small = size.slot < 14, r = place.hosts === 1 ? 4 : small ? 3.4 : 6;
    const attributes = { class: "node " + place.kind };
    const made =
      place.kind === "host"
        ? element("rect", { x: place.x - r, y: place.y - r * 0.8, width: 2 * r, height: 1.6 * r, rx: 1.5, ...attributes }, svg)
        : element("circle", { cx: place.x, cy: place.y, r: place.kind === "router" ? r + 1.5 : r, ...attributes }, svg);
    hover(made, () => nodeText(place, i, network));
    const text = place.hosts > 1 ? place.hosts + " hosts" : place.name;
    if (text.length * 5.6 < size.slot || (place.kind !== "host" && lonely(place, network, size, text))) {
      const label = element("text", { x: Math.max(text.length * 3.1, place.x), y: place.y + (place.kind === "host" ? 17 : -11), "text-anchor": "middle", class: "name" }, svg);
      label.textContent = text;
    }
  }

  // Whether a name fits between its node's neighbours in the row.
  const lonely = (place, network, size, text) =>
    network.places.every((other) => {
      const dx = Math.abs(size.x(other[3]) - place.x), dy = Math.abs(size.y(other[4]) - place.y);
      return dx < 0.01 || dy > 20 || dx > text.length * 6 + 6;
    });

  const linkText = (network, edge, i) => {
    const [a, b] = [network.places[edge[0]], network.places[edge[1]]];
    const many = edge[4] > 1 ? `${edge[4]} links of ` : "";
    const lines = [`<b>${safe(a[0])} – ${safe(b[0])}</b>`, `${many}${edge[2]}, ${edge[3]}`];
    for (const [begin, end] of downtimes(i)) lines.push(`<b class="differs">down from ${time(begin)} to ${time(end)}</b>`);
    const way = (from, to, direction) => `<tr><td>${safe(from[0])} → ${safe(to[0])}</td>${figures(direction)}</tr>`;
    const head = data.metrics.map((m) => `<th>${m.title}</th>`).join("");
    return lines.join("<br>") + `<table><tr><th></th>${head}</tr>${way(a, b, 2 * i)}${way(b, a, 2 * i + 1)}</table>`;
  };
  const figures = (direction) =>
    data.metrics.map((m) => {
      const v = value(direction, m.key);
      return `<td>${v === null ? "–" : shown(v, m.unit) + spread(direction, m.key, m.unit)}</td>`;
    }).join("");
  const nodeText = (place, i, network) => {
    const where = place.datacenter === null ? "wide area" : "datacenter " + place.datacenter;
    const lines = [`<b>${safe(place.name)}</b>`, `${place.hosts > 1 ? place.hosts + " hosts" : place.kind}, ${where}`];
    const metric = data.metrics[state.metric];
    let worst = null;
    network.edges.forEach((edge, e) => {
      for (const [end, direction, other] of [[edge[0], 2 * e, edge[1]], [edge[1], 2 * e + 1, edge[0]]]) {
        const v = end === i ? value(direction, metric.key) : null;
        if (v !== null && (worst === null || v > worst[0])) worst = [v, network.places[other][0]];
      }
    });
    if (worst) lines.push(`most of its ports: ${metric.title} ${shown(worst[0], metric.unit)} towards ${safe(worst[1])}`);
    return lines.join("<br>");
  };
  const safe = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

  function hover(target, text) {
    const show = (event) => {
      tip.innerHTML = text();
      tip.hidden = false;
      const frame = box.getBoundingClientRect();
      const left = Math.min(event.clientX - frame.left + 14, frame.width - tip.offsetWidth - 6);
      tip.style.left = Math.max(4, left) + "px";
      tip.style.top = event.clientY - frame.top + 16 + "px";
    };
    target.addEventListener("pointermove", show);
    target.addEventListener("pointerdown", show);
    target.addEventListener("pointerleave", () => (tip.hidden = true));
  }

  function colour() {
    const metric = data.metrics[state.metric], most = highest(metric), thin = lanes.length > 1500 ? 0.5 : 1;
    const order = [];
    lanes.forEach((lane, direction) => {
      const v = value(direction, metric.key), share = v !== null && most > 0 ? v / most : 0;
      lane.setAttribute("stroke", share > 0 ? heat(share) : data.idle);
      lane.setAttribute("stroke-width", (share > 0 ? 1.4 + 2.6 * Math.min(1, share) : 1) * thin);
      lane.setAttribute("stroke-dasharray", v === null ? "2 4" : "none");
      if (share > 0.2) order.push([share, lane]);
    });
    // The worst are drawn last, so that nothing covers them.
    order.sort((a, b) => a[0] - b[0]).forEach(([, lane]) => lane.parentNode.appendChild(lane));
    const run = data.runs[state.run];
    const when = state.frame < 0 ? "whole run" : "until " + time(run.times[state.frame]);
    const bar = `<span class="bar" style="background:linear-gradient(90deg,${data.colours.join(",")})"></span>`;
    const range = most > 0 ? `0 ${bar} ${shown(most, metric.unit)}` : "none anywhere";
    const dashes = state.frame >= 0 && run.recorded.length < lanes.length ? "; dashed: no series recorded (record.ports)" : "";
    marks.forEach(([edge, mark]) => mark.setAttribute("visibility", downtimes(edge).length ? "visible" : "hidden"));
    const mean = run.spread ? ", mean over seeds" : "";
    const crosses = run.failed.length ? `; <b class="differs">✕</b> a link that was down` : "";
    legend.innerHTML = `${metric.title}${mean}, ${when}: ${range}${dashes}${crosses}`;
  }

  function choices(names, chosen, pick, label) {
    const group = document.createElement("span");
    group.className = "choices";
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", label);
    const buttons = names.map((name, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.setAttribute("aria-pressed", i === chosen);
      button.addEventListener("click", () => {
        buttons.forEach((other, j) => other.setAttribute("aria-pressed", j === i));
        pick(i);
      });
      group.appendChild(button);
      return button;
    });
    controls.appendChild(group);
  }

  const slider = document.createElement("input"), moment = document.createElement("label");
  function timeline() {
    const times = data.runs[state.run].times;
    moment.hidden = times.length === 0;
    slider.min = 0;
    slider.max = times.length;
    slider.value = 0;
    state.frame = -1;
  }
  if (data.runs.length > 1) {
    const select = document.createElement("select");
    select.setAttribute("aria-label", "run");
    data.runs.forEach((run, i) => select.add(new Option(run.label, i)));
    select.addEventListener("change", () => {
      const kept = state.frame;
      state.run = Number(select.value);
      timeline();
      if (kept >= 0 && kept < data.runs[state.run].times.length) {
        state.frame = kept;
        slider.value = kept + 1;
      }
      draw();
    });
    controls.appendChild(select);
  }
  choices(data.metrics.map((m) => m.title), state.metric, (i) => ((state.metric = i), colour()), "what colours the links");
  slider.type = "range";
  slider.addEventListener("input", () => ((state.frame = Number(slider.value) - 1), colour()));
  moment.append("time ", slider);
  controls.appendChild(moment);
  timeline();
  draw();
})();
