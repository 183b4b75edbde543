// One WebSocket for events, pictures (requested one at a time) and stop.

import { NoSession, ask, msg, socketTo } from "./util.js";

const RETRY_MS = 1000;
const FRAME_EVERY_MS = 90;

export class Connection extends EventTarget {
  #socket = null;
  #closed = false;
  #watching = new Set();
  #asked = 0;

  open() {
    this.#closed = false;
    const socket = socketTo("/ws");
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => (typeof data === "string" ? this.#hear(JSON.parse(data)) : this.#see(data));
    socket.onopen = () => { this.#socket = socket; this.#askFrame(); };
    socket.onclose = () => {
      this.#socket = null;
      if (this.#closed) return;
      this.#tell("gone", msg("the page's server does not answer"));
      setTimeout(() => !this.#closed && this.#check(), RETRY_MS);
    };
  }

  close() {
    this.#closed = true;
    this.#socket?.close();
  }

  /** Sets whether a panel wants pictures. They are requested while any panel does. */
  wantFrames(panel, wanted) {
    const before = this.#watching.size > 0;
    if (wanted) this.#watching.add(panel);
    else this.#watching.delete(panel);
    if (wanted && !before) this.#askFrame();
  }

  /** Stops at once without confirmation; over HTTP if the WebSocket is closed. */
  async stop(kind) {
    if (this.#socket?.readyState === WebSocket.OPEN) return this.#socket.send(JSON.stringify({ do: kind }));
    try {
      const answer = await ask("POST", "/api/stop", { emergency: kind === "estop" });
      this.#tell("stopped", { ...answer, stopped: kind });
    } catch (error) {
      this.#tell("stopped", { stopped: kind, reason: error.message });
    }
  }

  /** Finds out whether the session has ended or only the connection. */
  async #check() {
    try {
      await ask("GET", "/api/status");
    } catch (error) {
      if (error instanceof NoSession) return this.#tell("ended");
    }
    this.open();
  }

  #hear(message) {
    for (const [kind, detail] of Object.entries(message)) {
      if (kind === "stopped") return this.#tell("stopped", message);
      this.#tell(kind, detail);
    }
  }

  #see(data) {
    const head = new DataView(data);
    const at = performance.now() - head.getUint32(4);
    this.#tell("frame", { number: head.getUint32(0), at, jpeg: new Blob([new Uint8Array(data, 8)], { type: "image/jpeg" }) });
    const wait = Math.max(0, this.#asked + FRAME_EVERY_MS - performance.now());
    setTimeout(() => this.#askFrame(), wait);
  }

  #askFrame() {
    if (!this.#watching.size || this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#asked = performance.now();
    this.#socket.send('{"do": "frame"}');
  }

  #tell(kind, detail) {
    this.dispatchEvent(new CustomEvent(kind, { detail }));
  }
}
