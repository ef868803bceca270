// The player of a report: the map of the network with the packets of the trace that stands in the page.
(() => {
  const $ = (name) => document.getElementById(`packets-${name}`);
  const data = JSON.parse($("data").textContent);
  const arrays = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };
  const unpacked = ([kind, text]) => new arrays[kind](Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const columns = Object.fromEntries(Object.entries(data.columns).map(([name, packed]) => [name, unpacked(packed)]));
  const controls = new PlayerControls($("map"), { play: $("play"), time: $("time"), speed: $("speed"), moment: $("moment") });
  controls.load(new Recording({ events: data.events, kinds: data.kinds, columns }, data.ports, data.flows));

  // Space plays and stops wherever the focus is in the player, but on what has a use of its own for it.
  $("player").addEventListener("keydown", (event) => {
    if (event.key !== " " || ["BUTTON", "SELECT"].includes(event.target.tagName)) return;
    event.preventDefault();
    controls.toggle();
  });

  const legend = () => $("flows").querySelectorAll("[data-flow]").forEach((dot) => (dot.style.backgroundColor = colour(Number(dot.dataset.flow))));
  theme.follow(legend);
  legend();
})();
