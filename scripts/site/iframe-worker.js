// Search runs in a worker, which browsers do not start from file://. There this stands in for it: the worker's script runs in a hidden frame
// of the page. Material for MkDocs looks for the name IFrameWorker, and for importScripts that gives a promise.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow, page = this.frame.contentDocument;
      page.open();
      page.write("<!doctype html><html><body></body></html>");
      page.close();
      const load = (source) =>
        new Promise((loaded, failed) => {
          const script = page.createElement("script");
          script.src = source;
          script.onload = loaded;
          script.onerror = () => failed(new Error(source));
          page.body.appendChild(script);
        });
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...sources) => sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
      load(String(url)).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      }, (error) => this.dispatchEvent(new ErrorEvent("error", { error })));
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
