// How long a run takes, said before it runs: packet-hops from what the flows offer, at the speed that this page has measured.

/** Packet-hops per second of a page that has run nothing yet. */
const USUAL_SPEED = 4e6;
/** Of more flows without end than this some stand for all. */
const MAX_ROUTED = 400;

/** About how many packet-hops a scenario has that was looked at, acknowledgements included; senders fill their paths. */
function packetHops({ resolved, tables }) {
  const [ports, flows] = [rows(tables.ports), rows(tables.flows)];
  const end = parseQuantity(resolved.run.duration);
  const mtu = parseQuantity(resolved.transport.mtu);
  const packets = hopsOfSizes(ports, flows, end, mtu) + hopsWithoutEnd(ports, flows, end, mtu);
  // Each data packet has its acknowledgement.
  return 2 * packets;
}

/** Data packets of flows with sizes, at every port that they pass: what they offer, or as much as the link carries until the end. */
function hopsOfSizes(ports, flows, end, mtu) {
  const sizes = flows.map((flow) => flow.size_bytes).filter(Boolean);
  if (!sizes.length) return 0;
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  const packet = bytes / sizes.reduce((sum, size) => sum + Math.ceil(size / mtu), 0);
  return ports.reduce((sum, port) => sum + Math.min(port.offered_bytes || 0, (port.rate_bps / 8) * end), 0) / packet;
}

/** Data packets of flows without end, each at its share of the narrowest link on a shortest path. */
function hopsWithoutEnd(ports, flows, end, mtu) {
  const all = flows.filter((flow) => flow.size_bytes === null && flow.start_ps !== null && flow.start_ps * PS < end);
  const every = Math.ceil(all.length / MAX_ROUTED);
  const some = all.filter((_, at) => at % every === 0);
  const { nodes } = networkOf(ports);
  const byNode = new Map([...nodes.keys()].map((name) => [name, []]));
  ports.forEach((port, at) => byNode.get(port.node).push(at));
  const distances = new Map();
  const paths = some.map((flow, number) => {
    if (!distances.has(flow.destination)) distances.set(flow.destination, spread(nodes, [flow.destination]));
    const distance = distances.get(flow.destination);
    const path = [];
    for (let at = flow.source; at !== flow.destination && path.length < 64; at = ports[path.at(-1)].peer) {
      // Flows take the paths of one length in turn.
      const next = byNode.get(at).filter((port) => distance.get(ports[port].peer) === distance.get(at) - 1);
      if (!next.length) return [];
      path.push(next[number % next.length]);
    }
    return path;
  });
  const sharing = new Map();
  for (const port of paths.flat()) sharing.set(port, (sharing.get(port) || 0) + every);
  return some.reduce((sum, flow, number) => {
    const path = paths[number];
    if (!path.length) return sum;
    const rate = Math.min(...path.map((port) => ports[port].rate_bps / sharing.get(port)));
    const active = Math.min(end, (flow.stop_ps ?? Infinity) * PS) - flow.start_ps * PS;
    return sum + (every * path.length * (rate / 8) * Math.max(0, active)) / mtu;
  }, 0);
}

/** A span of time as people say it, in s. */
function span(seconds) {
  const [name, size] = [["days", 86400], ["hours", 3600], ["minutes", 60], ["s", 1]].find(([, one]) => seconds >= 2 * one) || ["s", 1];
  return `${Number((seconds / size).toPrecision(2))} ${name}`;
}
