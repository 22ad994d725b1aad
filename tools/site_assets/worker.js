/* A page opened from a folder may start no worker: the search's worker runs in a hidden frame instead. The search
 * knows this by the name IFrameWorker, and waits for what importScripts returns. */
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onerror = null;
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inner = frame.contentWindow;
      const script = source => new Promise((done, failed) => {
        const element = inner.document.createElement("script");
        Object.assign(element, { src: source, onload: done, onerror: failed });
        inner.document.head.append(element);
      });
      inner.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => script(new URL(source, url).href)), Promise.resolve());
      inner.postMessage = data => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      script(url).then(() => {
        this.inner = inner;
        this.waiting.forEach(data => this.deliver(data));
      });
    }

    deliver(data) {
      this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data }));
    }

    postMessage(data) {
      if (this.inner) this.deliver(data);
      else this.waiting.push(data);
    }

    terminate() {}
  };
}
