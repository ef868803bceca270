// Quantities as scenarios write them ("25ms", "1.5MB", "100Gbps") and as people read them.

const UNITS = {
  time: [["s", 1], ["ms", 1e-3], ["us", 1e-6], ["ns", 1e-9], ["ps", 1e-12]],
  bytes: [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]],
  rate: [["Tbps", 1e12], ["Gbps", 1e9], ["Mbps", 1e6], ["kbps", 1e3], ["bps", 1]],
};
const OTHER_UNITS = { "µs": 1e-6, KB: 1e3, KiB: 1024, MiB: 1048576, GiB: 1073741824, Kbps: 1e3 };

/** The number of a quantity in s, B or bit/s; NaN where the text is none. */
function parseQuantity(text) {
  const match = /^\s*([0-9_]*\.?[0-9_]+)\s*([A-Za-zµ]+)\s*$/.exec(String(text));
  if (!match) return NaN;
  const all = Object.values(UNITS).flat();
  const unit = (all.find(([name]) => name === match[2]) || [])[1] ?? OTHER_UNITS[match[2]];
  return unit === undefined ? NaN : Number(match[1].replaceAll("_", "")) * unit;
}

/** A quantity as scenarios write it: the largest unit of which there is at least one. */
function writeQuantity(value, kind) {
  const [name, size] = UNITS[kind].find(([, one]) => value >= one * 0.9999) || UNITS[kind].at(-1);
  return `${Number((value / size).toPrecision(6))}${name}`;
}

/** A number with its unit for reading: 9.41 Gbit/s. */
function quantity(value, unit) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (value === 0) return `0 ${unit}`;
  const prefixes = unit === "s" ? [["", 1], ["m", 1e-3], ["µ", 1e-6], ["n", 1e-9], ["p", 1e-12]] : [["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1]];
  const [prefix, size] = prefixes.find(([, one]) => Math.abs(value) >= one * 0.9995) || prefixes.at(-1);
  return `${Number((value / size).toPrecision(3))} ${prefix}${unit}`;
}

/** A whole number with thin spaces between thousands. */
function whole(value) {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u2009");
}
