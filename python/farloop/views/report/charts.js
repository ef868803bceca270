// Draws each chart when it comes near the screen, so that the page itself is there at once. plotly.js is in the page, compressed.
{
  const charts = globalThis.farloopCharts ?? [];
  const phone = matchMedia("(max-width: 700px)");
  const unpack = async () => {
    const packed = document.getElementById("plotly").textContent.trim();
    const bytes = Uint8Array.from(atob(packed), letter => letter.charCodeAt(0));
    const text = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
    const script = document.createElement("script");
    script.textContent = await text;
    document.head.append(script);
  };
  let library;
  const draw = async chart => {
    try {
      await (library ??= unpack());
    } catch {
      document.getElementById(chart.id).textContent = "This browser cannot unpack the charts (DecompressionStream); the tables have the numbers.";
      return;
    }
    Plotly.react(chart.id, chart.data, phone.matches ? chart.narrow : chart.wide, chart.config);
    chart.drawn = true;
  };
  const seen = new IntersectionObserver(entries => entries.filter(entry => entry.isIntersecting).forEach(entry => {
    seen.unobserve(entry.target);
    draw(charts.find(chart => chart.id === entry.target.id));
  }), {rootMargin: "600px"});
  for (const chart of charts) {
    const place = document.getElementById(chart.id);
    place.style.minHeight = `${(phone.matches ? chart.narrow : chart.wide).height}px`;
    seen.observe(place);
  }
  // Turning a phone is enough to make a page wide.
  phone.addEventListener("change", () => charts.filter(chart => chart.drawn).forEach(draw));
  addEventListener("beforeprint", () => charts.filter(chart => !chart.drawn).forEach(draw));
}
// A choice shows one of the parts beside it: those whose value is chosen.
for (const chooser of document.querySelectorAll("[data-chooser]")) {
  const selects = [...chooser.querySelectorAll("select")], parts = [...chooser.querySelectorAll("[data-part]")];
  const show = () => {
    const [first, second] = selects, own = parts.filter(part => part.dataset.part === first.value);
    if (second) {
      for (const option of second.options) option.disabled = !own.some(part => part.dataset.scope === option.value);
      if (second.selectedOptions[0].disabled) second.value = own[0].dataset.scope;
    }
    for (const part of parts) part.hidden = !(own.includes(part) && (!second || part.dataset.scope === second.value));
  };
  selects.forEach(select => select.addEventListener("change", show));
  show();
}
