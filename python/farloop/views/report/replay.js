// Packets on a map of the network: what a trace recorded, at a chosen speed. Reports of traced runs and the playground have the same player.

const TAU = 2 * Math.PI;
const PICOSECOND = 1e-12;
/** Radii on the map in CSS pixels. */
const NODE = { host: 5, switch: 9, router: 9, circuit: 9 };

/** A trace that a player can play. */
class Recording {
  /**
   * `trace` has `events` and `kinds`, the names of what its numbers stand for, and `columns`, arrays by name: `time` in s, `port` and `flow`
   * (rows of their tables), `event`, `kind`, `marked`, `wire` and `queue` in bytes. `ports` and `flows` are rows of their tables.
   */
  constructor(trace, ports, flows) {
    Object.assign(this, trace.columns);
    this.ports = ports;
    this.flows = flows;
    this.what = Object.fromEntries(trace.events.map((name, at) => [name, at]));
    this.kinds = Object.fromEntries(trace.kinds.map((name, at) => [name, at]));
    this.count = this.time.length;
    // From when a packet begins to leave until it is at the other end.
    this.arrival = Float64Array.from(this.time, (at, i) => at + (8 * this.wire[i]) / ports[this.port[i]].rate_bps + ports[this.port[i]].delay_ps * PICOSECOND);
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

/** Shows a recording on a canvas, and plays it. `onFrame(time)` is called with each picture. */
class Player {
  constructor(canvas, onFrame) {
    this.canvas = canvas;
    this.onFrame = onFrame;
    this.playing = false;
    /** Simulated seconds in a second. */
    this.speed = 1e-3;
    new ResizeObserver(() => this.draw()).observe(canvas);
    theme.follow(() => this.draw());
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
    if (!this.recording) return;
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
    const style = getComputedStyle(canvas);
    this.ink = { text: style.getPropertyValue("--text"), quiet: style.getPropertyValue("--quiet"), line: style.getPropertyValue("--link"), bad: style.getPropertyValue("--bad"), paper: style.getPropertyValue("--box") };
    const margin = { x: 34, y: 30 };
    this.place = (name) => {
      const { x, y } = this.network.nodes.get(name);
      return [margin.x + x * (width - 2 * margin.x), margin.y + y * (height - 2 * margin.y)];
    };
    this.drawLinks(pen);
    this.drawPackets(pen);
    this.drawNodes(pen);
    // Above the names, whose edges would cut them.
    this.drawQueues(pen);
    this.onFrame(this.time);
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
      const [sx, sy] = [x + 18 * dx, y + 18 * dy];
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
    for (const { name, kind } of nodes.values()) {
      const [x, y] = this.place(name);
      pen.fillStyle = kind === "host" ? this.ink.quiet : this.ink.text;
      pen.beginPath();
      if (kind === "host") pen.arc(x, y, named ? NODE.host : 3, 0, TAU);
      else pen.rect(x - NODE[kind], y - NODE[kind] * 0.7, 2 * NODE[kind], NODE[kind] * 1.4);
      pen.fill();
    }
    if (nodes.size <= 60) this.drawNames(pen, named);
  }

  /** The names that have room: those of switches above them, those of hosts below. */
  drawNames(pen, hostsToo) {
    pen.textAlign = "center";
    pen.font = "12px system-ui, sans-serif";
    pen.lineJoin = "round";
    pen.lineWidth = 4;
    pen.strokeStyle = this.ink.paper;
    pen.fillStyle = this.ink.text;
    const all = [...this.network.nodes.values()].filter(({ kind }) => kind !== "host" || hostsToo);
    const drawn = [];
    for (const { name, kind } of all.sort((a, b) => (a.kind === "host") - (b.kind === "host"))) {
      const [x, y] = this.place(name);
      const half = pen.measureText(name).width / 2 + 3;
      const base = kind === "host" ? y + 20 : y - 12;
      if (drawn.some((other) => Math.abs(other.x - x) < other.half + half && Math.abs(other.base - base) < 14)) continue;
      drawn.push({ x, half, base });
      pen.strokeText(name, x, base);
      pen.fillText(name, x, base);
    }
  }
}

/** Seconds that a recording takes at medium speed. */
const PLAYED_FOR = 15;
/** Steps of the slider over a recording. */
const STEPS_OF_TIME = 1000;

/** What a player is worked with: `play` (a button), `time` (a slider over the recording), `speed` (a list of factors), `moment` (a text). */
class PlayerControls {
  constructor(canvas, parts) {
    Object.assign(this, parts);
    this.player = new Player(canvas, () => this.show());
    this.time.min = 0;
    this.time.max = STEPS_OF_TIME;
    this.play.addEventListener("click", () => this.toggle());
    this.time.addEventListener("input", () => this.scrub());
    this.speed.addEventListener("change", () => this.setSpeed());
    this.enable(false);
  }

  /** Shows a recording, at `part` of it: a picture from the midst says more than the first packet. */
  load(recording, part = 0.3) {
    this.player.load(recording);
    this.setSpeed();
    this.enable(recording.count > 0);
    this.player.seek(recording.begin + part * (recording.end - recording.begin));
  }

  /** Whether there is something to play. */
  enable(is) {
    if (!is) this.player.stop();
    this.play.disabled = this.time.disabled = !is;
    this.play.textContent = "Play";
  }

  toggle() {
    if (this.player.playing) this.player.stop();
    else this.player.play();
    this.show();
  }

  scrub() {
    const { recording } = this.player;
    if (recording) this.player.seek(recording.begin + (Number(this.time.value) / STEPS_OF_TIME) * (recording.end - recording.begin));
  }

  setSpeed() {
    const { recording } = this.player;
    if (recording) this.player.speed = (Math.max(recording.end - recording.begin, 1e-9) / PLAYED_FOR) * Number(this.speed.value);
  }

  /** The player has drawn: the slider and the text follow. */
  show() {
    const { time, recording, playing, shown } = this.player;
    if (!recording) return;
    const text = `${(time * 1e3).toFixed(4)} ms, ${shown} ${shown === 1 ? "packet" : "packets"} on links`;
    this.time.value = Math.round((STEPS_OF_TIME * (time - recording.begin)) / Math.max(recording.end - recording.begin, 1e-12));
    this.time.setAttribute("aria-valuetext", text);
    this.moment.textContent = text;
    const does = playing ? "Pause" : "Play";
    if (this.play.textContent !== does) this.play.textContent = does;
  }
}
