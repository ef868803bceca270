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
    const {data, layout} = chosen(chart, phone.matches ? chart.narrow : chart.wide);
    Plotly.react(chart.id, data, layout, chart.config);
    chart.drawn = true;
  };
  // Of a chart the curves of one panel, drawn alone, and of one kind of flows; without a choice all of it.
  const chosen = (chart, whole) => {
    const {panel = "", kind = ""} = chart.filter ?? {};
    if (!panel && !kind) return {data: chart.data, layout: whole};
    let data = chart.data.filter(trace => !kind || !trace.meta || trace.meta === kind), layout = whole;
    if (panel) {
      const number = chart.panels.indexOf(panel), end = number > 0 ? String(number + 1) : "";
      const plain = axis => ({...whole[axis], domain: [0, 1], matches: undefined, showticklabels: true});
      data = data.filter(trace => number >= 0 && trace.xaxis === `x${end}`).map(trace => ({...trace, xaxis: "x", yaxis: "y"}));
      const shapes = (whole.shapes ?? []).filter(shape => number >= 0 && shape.xref === `x${end}`).map(shape => ({...shape, xref: "x", yref: "y domain"}));
      const text = number < 0 ? `${panel.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}: no curve here` : whole.annotations[number].text;
      layout = Object.fromEntries(Object.entries(whole).filter(([key]) => !/^[xy]axis/.test(key)));
      const last = Math.max(...Object.keys(whole).map(key => Number(key.match(/^xaxis(\d+)$/)?.[1] ?? 1)));
      const titled = {...plain(`xaxis${end}`), anchor: "y", title: whole[`xaxis${last > 1 ? last : ""}`].title};
      Object.assign(layout, {height: chart.single, shapes, xaxis: titled, yaxis: {...plain(`yaxis${end}`), anchor: "x", title: whole.yaxis.title},
        annotations: [{...whole.annotations[Math.max(number, 0)], text, x: 0.5, y: 1}]});
    }
    // The first curve of each name may be one that is not shown.
    const named = new Set();
    data = data.map(trace => {
      const key = `${trace.name}/${trace.line?.dash}`, first = trace.mode !== "none" && !named.has(key);
      if (trace.mode !== "none") named.add(key);
      return {...trace, showlegend: first};
    });
    return {data, layout};
  };
  for (const filters of document.querySelectorAll("[data-filters]")) {
    const own = charts.filter(chart => filters.querySelector(`#${CSS.escape(chart.id)}`));
    for (const select of filters.querySelectorAll("select[data-filter]")) {
      select.addEventListener("change", () => {
        for (const chart of own) {
          chart.filter = {...chart.filter, [select.dataset.filter]: select.value};
          document.getElementById(chart.id).style.minHeight = "";
          if (chart.drawn) draw(chart);
        }
      });
    }
  }
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
  const selects = [...chooser.querySelectorAll("select:not([data-filter])")], parts = [...chooser.querySelectorAll("[data-part]")];
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
