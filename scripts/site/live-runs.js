// Live runs in pages (scripts/live_runs.py) are as dark as the page: it tells them when they have started, and when its colours change.
(() => {
  const frames = () => [...document.querySelectorAll("iframe.live")];
  const dark = () => document.body.dataset.mdColorScheme === "slate";
  const tell = (frame) => frame.contentWindow.postMessage({ theme: dark() ? "dark" : "light" }, "*");
  addEventListener("message", ({ source, data }) => {
    const frame = frames().find((one) => one.contentWindow === source);
    if (frame && data && data.ask === "theme") tell(frame);
  });
  const watch = () => new MutationObserver(() => frames().forEach(tell)).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
  if (document.body) watch();
  else addEventListener("DOMContentLoaded", watch);
})();
