// The guided calibration: pages that the robot's guide tells, with the camera's picture.

import { Hold } from "./hold.js";
import { guided, reasonOf, t } from "./language.js";
import { el, msg } from "./util.js";

const GRIP_PX = 40;
const DRAG_EVERY_MS = 50;
const FINE = 1 / 400;
const FAR = 8;

/** One guide, in `room`, from its making to `ended(why)`; closing its socket ends maintenance. */
export class Guide {
  #connection;
  #socket;
  #ended;
  #page = {};
  #corners = null;
  #corner = 0;
  #dragging = false;
  #sentAt = 0;
  #image = null;
  #why = msg("the page's server does not answer");
  #seen = (event) => this.#see(event.detail.jpeg);
  #part = {};

  constructor(room, connection, ended) {
    this.#connection = connection;
    this.#ended = ended;
    this.#build(room);
    const socket = new WebSocket(`ws${location.protocol === "https:" ? "s" : ""}://${location.host}/ws/guide`);
    socket.onmessage = ({ data }) => this.#hear(JSON.parse(data));
    socket.onclose = () => this.#close();
    this.#socket = socket;
    connection.addEventListener("frame", this.#seen);
  }

  end() {
    this.#why = null;
    this.#socket.close();
  }

  /** Whether somebody looks at it, so that pictures are wanted. */
  set shown(shown) {
    this.#connection.wantFrames("guide", shown && !this.#page.frame);
  }

  #build(room) {
    const part = this.#part = {
      heading: el("h2", { tabindex: -1, id: "guide-heading" }, t("Calibrate")),
      place: el("p", { class: "quiet" }),
      guidance: el("p", { id: "guide-text" }),
      picture: el("canvas", { id: "guide-picture", role: "img", "aria-label": t("The camera's picture"), width: 320, height: 240 }),
      advice: el("ul", { class: "advice" }),
      value: el("p", { id: "guide-value" }),
      found: el("div", { id: "guide-found" }),
      question: el("p", { class: "question", role: "alert", hidden: "" }),
      message: el("p", { id: "guide-message", role: "status" }, t("The robot goes into maintenance")),
      buttons: el("div", { class: "holds", id: "guide-buttons" }),
      end: el("button", { class: "plain", id: "guide-end", click: () => this.end() }, t("End calibration")),
    };
    const canvas = part.picture;
    canvas.addEventListener("pointerdown", (e) => this.#grip(e));
    canvas.addEventListener("pointermove", (e) => this.#drag(e));
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (e) => this.#letGo(e));
    const told = el("div", { class: "card told" }, el("div", { class: "row" }, part.heading, part.place), part.guidance,
      part.value, part.question, part.message, part.buttons, part.found);
    const seen = el("figure", {}, canvas, el("figcaption", {}, part.advice));
    this.root = el("div", { class: "guide", keydown: (e) => this.#key(e) }, told, seen, part.end);
    room.replaceChildren(this.root);
  }

  /** Says everything again, in the page's language; a calibration goes on. */
  speak() {
    const page = this.#page;
    this.#build(this.root.parentElement);
    if (!page.buttons) return;
    this.#page = { page: page.page };
    this.#show(page);
    this.#draw();
  }

  #hear(document) {
    if ("ended" in document) this.#why = reasonOf({ message: document.ended, answer: document });
    else if ("picture" in document) this.#see(jpegOf(document.picture));
    else this.#show(document);
  }

  #close() {
    this.#connection.wantFrames("guide", false);
    this.#connection.removeEventListener("frame", this.#seen);
    this.#ended(this.#why);
  }

  #send(message) {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ ...message, page: this.#page.page }));
  }

  #show(page) {
    const before = this.#page, part = this.#part;
    this.#page = page;
    part.heading.textContent = guided(page.heading);
    part.guidance.textContent = guided(page.guidance, page.parameters);
    part.place.textContent = page.place ? t("step {number} of {count}", { number: page.place[0], count: page.place[1] }) : "";
    part.message.textContent = [guided(page.message), page.about].filter(Boolean).join(": ");
    part.message.className = page.mood;
    part.question.hidden = !page.question;
    part.question.textContent = page.question ?? "";
    this.root.dataset.busy = page.busy;
    part.value.replaceChildren(...valueOf(page));
    this.#showButtons(before, page);
    this.#showRows(before, page);
    this.#showFrame(before, page);
    if (before.page === page.page) return;
    part.heading.focus({ preventScroll: true });
    this.root.scrollIntoView();
  }

  #showButtons(before, page) {
    const [first, ...others] = page.buttons;
    const buttons = page.frame ? [first, { do: "corner-next", label: "Other corner" }, ...others] : page.buttons;
    // A button that is held down must not go meanwhile.
    if (JSON.stringify(before.buttons) !== JSON.stringify(page.buttons) || Boolean(before.frame) !== Boolean(page.frame)) {
      this.#part.buttons.replaceChildren(...buttons.map((button) => this.#made(button)));
    }
    for (const button of this.#part.buttons.children) button.disabled = page.busy && button.classList.contains("hold");
  }

  #made({ do: what, label, moves }) {
    const act = () => this.#act(what);
    const made = el("button", { class: moves ? "hold" : "plain", "data-do": what, ...(moves ? {} : { click: act }) }, guided(label));
    if (moves) new Hold(made, act, (text) => { this.#part.message.textContent = text; });
    return made;
  }

  #act(what) {
    if (what !== "corner-next") return this.#send({ do: what });
    this.#corner = (this.#corner + 1) % 4;
    this.#draw();
  }

  #showRows(before, page) {
    const shown = [page.columns, page.rows];
    if (before.page === page.page && JSON.stringify(shown) === JSON.stringify([before.columns, before.rows])) return;
    const { rows = [], columns = [] } = page;
    const focused = [...this.#part.found.querySelectorAll("button")].indexOf(document.activeElement);
    this.#part.found.replaceChildren(...(rows.length ? [columns.length ? this.#table(columns, rows) : this.#list(rows)] : []));
    if (focused >= 0 && before.page === page.page) this.#part.found.querySelectorAll("button")[focused]?.focus();
  }

  #list(rows) {
    return el("ul", { class: "choices" }, rows.map(({ cells }, row) =>
      el("li", {}, el("button", { class: "plain", click: () => this.#send({ do: "open", row }) }, guided(cells[0])))));
  }

  #table(columns, rows) {
    const head = columns.map((column) => el("th", { scope: "col" }, guided(column)));
    const body = rows.map(({ cells, colour, opens }, row) => el("tr", {}, cells.map((cell, i) => {
      if (i > 0) return el("td", {}, guided(cell));
      const swatch = colour && el("i", { class: "swatch" });
      if (swatch) swatch.style.background = `rgb(${colour.join()})`;
      return el("td", {}, swatch, opens ? el("button", { click: () => this.#send({ do: "open", row }) }, `${cell} ${cells[1] ?? ""}`.trim()) : cell);
    })));
    // What opens a line names all that tells it from the others.
    if (rows[0].opens) body.forEach((line) => line.children[1]?.remove());
    const heads = rows[0].opens ? [el("th", { scope: "col" }, columns.slice(0, 2).map((column) => guided(column)).join(", ")), ...head.slice(2)] : head;
    return el("div", { class: "table", tabindex: 0, role: "group", "aria-label": t("Found") },
      el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, body)));
  }

  #showFrame(before, page) {
    if (page.frame && !this.#dragging) this.#corners = page.frame.corners;
    if (!page.frame) this.#corners = null;
    if (before.page !== page.page) this.#corner = 0;
    this.#part.picture.tabIndex = page.frame ? 0 : -1;
    this.#part.advice.replaceChildren(...(page.advice ?? []).map((line) => el("li", {}, line)));
    this.#connection.wantFrames("guide", !page.frame && this.root.isConnected && !this.root.closest("[hidden]"));
    this.#draw();
  }

  async #see(jpeg) {
    const image = await createImageBitmap(jpeg).catch(() => null);
    if (!image) return;
    this.#image = image;
    this.#draw();
  }

  #draw() {
    const canvas = this.#part.picture, image = this.#image;
    if (!image) return;
    canvas.width = image.width;
    canvas.height = image.height;
    const g = canvas.getContext("2d");
    g.drawImage(image, 0, 0);
    if (!this.#corners) return;
    const points = this.#corners.map(([x, y]) => [x * image.width, y * image.height]);
    for (const [colour, width] of [["#000", image.width / 100], ["#ff0", image.width / 200]]) {
      g.strokeStyle = colour;
      g.lineWidth = width;
      g.beginPath();
      points.forEach((point, i) => (i ? g.lineTo(...point) : g.moveTo(...point)));
      g.closePath();
      g.stroke();
    }
    points.forEach(([x, y], i) => {
      g.fillStyle = i === this.#corner ? "#f0f" : "#ff0";
      g.beginPath();
      g.arc(x, y, image.width / 60, 0, 7);
      g.fill();
      g.stroke();
    });
  }

  /** Where a pointer is, in parts of the picture, which lies in the middle of its canvas. */
  #at(event) {
    const canvas = this.#part.picture, box = canvas.getBoundingClientRect();
    const scale = Math.min(box.width / canvas.width, box.height / canvas.height);
    const left = box.left + (box.width - scale * canvas.width) / 2, top = box.top + (box.height - scale * canvas.height) / 2;
    const size = [scale * canvas.width, scale * canvas.height];
    return { part: [(event.clientX - left) / size[0], (event.clientY - top) / size[1]], size };
  }

  #grip(event) {
    if (!this.#corners) return;
    const { part, size } = this.#at(event);
    const far = this.#corners.map(([x, y]) => Math.hypot((x - part[0]) * size[0], (y - part[1]) * size[1]));
    const nearest = far.indexOf(Math.min(...far));
    if (far[nearest] > GRIP_PX) return;
    event.preventDefault();
    this.#part.picture.setPointerCapture(event.pointerId);
    this.#corner = nearest;
    this.#dragging = true;
    this.#draw();
  }

  #drag(event) {
    if (!this.#dragging) return;
    this.#moveTo(this.#at(event).part);
    if (performance.now() - this.#sentAt > DRAG_EVERY_MS) this.#tellCorner();
  }

  #letGo(event) {
    if (!this.#dragging) return;
    this.#part.picture.releasePointerCapture(event.pointerId);
    this.#tellCorner();
    this.#dragging = false;
  }

  #moveTo(part) {
    this.#corners = this.#corners.map((corner, i) => (i === this.#corner ? part.map((at) => Math.min(1, Math.max(0, at))) : corner));
    this.#draw();
  }

  #tellCorner() {
    const [x, y] = this.#corners[this.#corner];
    this.#sentAt = performance.now();
    this.#send({ do: "corner", corner: this.#corner, x, y });
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (step && this.#corners) {
      const by = FINE * (event.shiftKey ? FAR : 1), at = this.#corners[this.#corner];
      this.#moveTo([at[0] + by * step[0], at[1] + by * step[1]]);
      this.#tellCorner();
    } else {
      const button = (this.#page.buttons ?? []).find(({ key, moves }) => key === event.key && !moves);
      if (!button) return;
      this.#send({ do: button.do });
    }
    event.preventDefault();
  }
}

function valueOf({ value, unit, limits, kept, original }) {
  if (value === undefined) return [];
  const about = [];
  if (limits) about.push(t("from {low} to {high}", { low: limits[0], high: limits[1] }));
  if (kept !== undefined) about.push(t("kept: {kept}, the profile says {original}", { kept, original }));
  return [el("b", {}, value), ` ${unit ?? ""} `, el("span", { class: "quiet" }, about.join("; "))];
}

function jpegOf(base64) {
  return new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], { type: "image/jpeg" });
}
