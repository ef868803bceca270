// Where the nodes of a network stand on its map.

/** The nodes and links of a table of ports: {nodes: Map(name -> {name, kind, datacenter, peers}), links: [{a, b, ports}]}. */
function networkOf(ports) {
  const nodes = new Map();
  const node = (name) => nodes.get(name) || nodes.set(name, { name, kind: "host", datacenter: null, peers: [] }).get(name);
  const links = new Map();
  ports.forEach((port, at) => {
    Object.assign(node(port.node), { kind: port.kind, datacenter: port.datacenter });
    node(port.node).peers.push(port.peer);
    const name = [port.node, port.peer].sort().join(" ") + port.link;
    const link = links.get(name) || links.set(name, { a: port.node, b: port.peer, ports: [] }).get(name);
    link.ports.push(at);
  });
  return { nodes, links: [...links.values()] };
}

/** Puts x and y from 0 to 1 to each node. Where hosts only send or only receive, senders stand left; else hosts below and switches by tier. */
function layOut({ nodes }, flows) {
  const sources = new Set(flows.map((flow) => flow.source));
  const sinks = new Set(flows.map((flow) => flow.destination));
  const oneWay = [...sources].every((name) => !sinks.has(name));
  const columns = oneWay && nodes.size <= 80 ? byDistance(nodes, sources) : byTier(nodes);
  const most = Math.max(1, columns.length - 1);
  columns.forEach((column, at) => {
    column.forEach((node, index) => {
      const [along, across] = [at / most, (index + 0.5) / column.length];
      [node.x, node.y] = oneWay && nodes.size <= 80 ? [along, across] : [across, 1 - along];
    });
  });
}

/** Columns by links from the sources; a host that neither sends nor receives stands beside its switch. */
function byDistance(nodes, sources) {
  const distance = spread(nodes, [...sources]);
  const columns = [];
  for (const node of nodes.values()) (columns[distance.get(node.name) ?? 0] ||= []).push(node);
  // Receivers stand in the column of the farthest of them in their part of the network, so that lines do not cross nodes.
  return columns.map((column) => column || []).filter((column) => column.length);
}

/** Rows: hosts, and switches by links to the nearest host; in each datacenter by datacenter, hosts beside those of their switch. */
function byTier(nodes) {
  const hosts = [...nodes.values()].filter((node) => node.kind === "host");
  const tier = spread(nodes, hosts.map((host) => host.name));
  const place = (node) => (node.datacenter === null ? 0.5 : node.datacenter);
  const all = [...nodes.values()];
  const routers = Math.max(0, ...all.filter((node) => node.datacenter !== null).map((node) => tier.get(node.name))) + 1;
  const rows = [];
  for (const node of all) (rows[node.datacenter === null ? routers : tier.get(node.name)] ||= []).push(node);
  const kept = rows.filter(Boolean);
  const number = new Map(all.map((node, at) => [node.name, at]));
  kept.forEach((row, at) => row.sort((a, b) => place(a) - place(b) || (at === 0 ? number.get(a.peers[0]) - number.get(b.peers[0]) : 0) || number.get(a.name) - number.get(b.name)));
  return kept;
}

/** Links from the nearest of some nodes to every node. */
function spread(nodes, from) {
  const distance = new Map(from.map((name) => [name, 0]));
  let front = from;
  while (front.length) {
    const next = [];
    for (const name of front) {
      for (const peer of nodes.get(name).peers) {
        if (distance.has(peer)) continue;
        distance.set(peer, distance.get(name) + 1);
        next.push(peer);
      }
    }
    front = next;
  }
  return distance;
}
