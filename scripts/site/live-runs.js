// Live runs in pages (scripts/live_runs.py): they are as dark as the page, which tells them when they start and when its colours change, and
// as high as what they show, so that nobody scrolls in a page within a page.
(() => {
  const HIGHEST = 6000;
  const frames = () => [...document.querySelectorAll("iframe.live")];
  const dark = () => document.body.dataset.mdColorScheme === "slate";
  const tell = (frame) => frame.contentWindow.postMessage({ theme: dark() ? "dark" : "light" }, "*");
  addEventListener("message", ({ source, data }) => {
    const frame = frames().find((one) => one.contentWindow === source);
    if (!frame || !data) return;
    if (data.ask === "theme") tell(frame);
    if (Number.isFinite(data.height)) frame.style.height = `${Math.min(Math.max(Math.ceil(data.height), 100), HIGHEST) + 4}px`;
  });
  const watch = () => new MutationObserver(() => frames().forEach(tell)).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
  if (document.body) watch();
  else addEventListener("DOMContentLoaded", watch);
})();
