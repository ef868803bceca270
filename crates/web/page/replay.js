// Packets on a map of the network: what a trace recorded, at a chosen speed.

const TAU = 2 * Math.PI;
/** Radii on the map in CSS pixels. */
const NODE = { host: 5, switch: 9, router: 9, circuit: 9 };

/** A trace that a player can play. */
class Recording {
  /** `trace` as the module gives it; `ports` and `flows` are rows of their tables. */
  constructor(trace, ports, flows) {
    const values = Object.fromEntries(Object.entries(trace.columns).map(([name, { values }]) => [name, values]));
    Object.assign(this, values);
    this.ports = ports;
    this.flows = flows;
    this.leftOut = trace.left_out;
    this.what = Object.fromEntries(trace.events.map((name, at) => [name, at]));
    this.kinds = Object.fromEntries(trace.kinds.map((name, at) => [name, at]));
    this.count = this.time.length;
    // From when a packet begins to leave until it is at the other end.
    this.arrival = Float64Array.from(this.time, (at, i) => at + (8 * this.wire[i]) / ports[this.port[i]].rate_bps + ports[this.port[i]].delay_ps * PS);
    this.longest = this.arrival.reduce((most, at, i) => Math.max(most, at - this.time[i]), 0);
    this.begin = this.count ? this.time[0] : 0;
    this.end = this.count ? this.time[this.count - 1] : 0;
  }

  /** The first record at or after a time. */
  at(time) {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time[middle] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Shows a recording on a canvas, and plays it. `told(time)` is called with each picture. */
class Player {
  constructor(canvas, told) {
    this.canvas = canvas;
    this.told = told;
    this.playing = false;
    /** Simulated seconds in a second. */
    this.speed = 1e-3;
    new ResizeObserver(() => this.draw()).observe(canvas);
    darkPage.addEventListener("change", () => this.draw());
  }

  load(recording) {
    this.stop();
    this.recording = recording;
    this.network = networkOf(recording.ports);
    layOut(this.network, recording.flows);
    this.seek(recording.begin);
  }

  /** Goes to a time. */
  seek(time) {
    this.time = time;
    this.next = 0;
    this.queues = new Float64Array(this.recording.ports.length);
    this.paused = new Int8Array(this.recording.ports.length);
    this.drops = [];
    this.draw();
  }

  play() {
    if (!this.recording || this.playing) return;
    if (this.time >= this.recording.end) this.seek(this.recording.begin);
    this.playing = true;
    let last = performance.now();
    const step = (now) => {
      if (!this.playing) return;
      this.time += ((now - last) / 1000) * this.speed;
      last = now;
      if (this.time >= this.recording.end) {
        this.time = this.recording.end;
        this.playing = false;
      }
      this.draw();
      if (this.playing) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  stop() {
    this.playing = false;
  }

  /** Takes in what has happened up to the present time: queues, pauses, drops. */
  advance() {
    const { time, port, queue, event, what } = this.recording;
    for (; this.next < this.recording.count && time[this.next] <= this.time; this.next++) {
      const at = port[this.next];
      if (event[this.next] === what.pause) this.paused[at] += 1;
      else if (event[this.next] === what.resume) this.paused[at] = Math.max(0, this.paused[at] - 1);
      else this.queues[at] = queue[this.next];
      if (event[this.next] === what.drop) this.drops.push({ port: at, time: time[this.next] });
    }
    this.drops = this.drops.filter((drop) => this.time - drop.time < this.speed * 0.6);
  }

  draw() {
    if (!this.recording) return;
    this.advance();
    const { canvas } = this;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width) return;
    [canvas.width, canvas.height] = [width * ratio, height * ratio];
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const style = getComputedStyle(document.body);
    this.ink = { text: style.getPropertyValue("--text"), quiet: style.getPropertyValue("--quiet"), line: style.getPropertyValue("--link"), bad: style.getPropertyValue("--bad") };
    const margin = { x: 34, y: 30 };
    this.place = (name) => {
      const { x, y } = this.network.nodes.get(name);
      return [margin.x + x * (width - 2 * margin.x), margin.y + y * (height - 2 * margin.y)];
    };
    this.drawLinks(pen);
    this.drawPackets(pen);
    this.drawQueues(pen);
    this.drawNodes(pen);
    this.told(this.time);
  }

  drawLinks(pen) {
    for (const { a, b, ports } of this.network.links) {
      const held = ports.some((port) => this.paused[port] > 0);
      pen.strokeStyle = held ? this.ink.bad : this.ink.line;
      pen.lineWidth = held ? 4 : 2;
      pen.beginPath();
      pen.moveTo(...this.place(a));
      pen.lineTo(...this.place(b));
      pen.stroke();
    }
  }

  drawPackets(pen) {
    const { time, arrival, port, flow, kind, marked, event, what, kinds, ports } = this.recording;
    const first = this.recording.at(this.time - this.recording.longest);
    let shown = 0;
    for (let i = first; i < this.next; i++) {
      if (event[i] !== what.leave || arrival[i] < this.time) continue;
      const [from, to] = [this.place(ports[port[i]].node), this.place(ports[port[i]].peer)];
      const part = (this.time - time[i]) / (arrival[i] - time[i]);
      const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
      // Each direction has its side of the link.
      const [aside, isData] = [4, kind[i] === kinds.data];
      const x = from[0] + part * (to[0] - from[0]) - (aside * (to[1] - from[1])) / length;
      const y = from[1] + part * (to[1] - from[1]) + (aside * (to[0] - from[0])) / length;
      pen.fillStyle = flow[i] === 0xffffffff ? this.ink.bad : colour(flow[i]);
      const size = isData ? 5 : 3;
      pen.globalAlpha = isData ? 1 : 0.7;
      pen.fillRect(x - size / 2, y - size / 2, size, size);
      if (marked[i] && isData) {
        pen.strokeStyle = this.ink.bad;
        pen.lineWidth = 1.5;
        pen.strokeRect(x - size / 2 - 1, y - size / 2 - 1, size + 2, size + 2);
      }
      shown++;
    }
    pen.globalAlpha = 1;
    this.shown = shown;
  }

  /** What waits at a port: a bar beside its node, as long as the logarithm of the bytes. */
  drawQueues(pen) {
    this.queues.forEach((bytes, at) => {
      if (bytes <= 0) return;
      const { node, peer } = this.recording.ports[at];
      const [[x, y], [u, v]] = [this.place(node), this.place(peer)];
      const length = Math.hypot(u - x, v - y) || 1;
      const [dx, dy] = [(u - x) / length, (v - y) / length];
      const size = Math.min(30, 3.2 * Math.log2(1 + bytes / 1500));
      const [sx, sy] = [x + 12 * dx, y + 12 * dy];
      pen.strokeStyle = this.ink.text;
      pen.lineWidth = 5;
      pen.beginPath();
      pen.moveTo(sx + dy * 4, sy - dx * 4);
      pen.lineTo(sx + dy * (4 + size), sy - dx * (4 + size));
      pen.stroke();
    });
    for (const drop of this.drops) {
      const [x, y] = this.place(this.recording.ports[drop.port].node);
      pen.strokeStyle = this.ink.bad;
      pen.lineWidth = 2;
      pen.beginPath();
      pen.arc(x, y, 15, 0, TAU);
      pen.stroke();
    }
  }

  drawNodes(pen) {
    const { nodes } = this.network;
    const named = nodes.size <= 24;
    pen.textAlign = "center";
    pen.font = "12px system-ui, sans-serif";
    for (const { name, kind } of nodes.values()) {
      const [x, y] = this.place(name);
      pen.fillStyle = kind === "host" ? this.ink.quiet : this.ink.text;
      pen.beginPath();
      if (kind === "host") pen.arc(x, y, named ? NODE.host : 3, 0, TAU);
      else pen.rect(x - NODE[kind], y - NODE[kind] * 0.7, 2 * NODE[kind], NODE[kind] * 1.4);
      pen.fill();
      pen.fillStyle = this.ink.text;
      if (named || (kind !== "host" && nodes.size <= 60)) pen.fillText(name, x, y + 24);
    }
  }
}
