// The guided calibration: draws the guide's dialogs with the camera's picture, and sends a person's input.

import { Hold } from "./hold.js";
import { guided, reasonOf, t } from "./language.js";
import { el, msg, socketTo, table } from "./util.js";

const GRIP_PX = 40;
const DRAG_EVERY_MS = 50;

/** A guide in `room`, from construction to `ended(why)`; closing its socket ends maintenance. */
export class Guide {
  #connection;
  #socket;
  #ended;
  #state = null;
  #dragged = null;
  #isHeld = false;
  #sentAt = 0;
  #image = null;
  #why = msg("the page's server does not answer");
  #seen = (event) => this.#see(event.detail.jpeg);
  #part = {};

  constructor(room, connection, ended) {
    this.#connection = connection;
    this.#ended = ended;
    this.#build(room);
    const socket = socketTo("/ws/guide");
    socket.onmessage = ({ data }) => this.#hear(JSON.parse(data));
    socket.onclose = () => this.#close();
    this.#socket = socket;
    connection.addEventListener("frame", this.#seen);
  }

  end() {
    this.#why = null;
    this.#socket.close();
  }

  /** True while the guide is in view and needs pictures. */
  set shown(shown) {
    this.#connection.wantFrames("guide", shown && !this.#outline);
  }

  #build(room) {
    const part = this.#part = {
      heading: el("h2", { tabindex: -1, id: "guide-heading" }, t("Calibrate")),
      place: el("p", { class: "quiet" }),
      guidance: el("p", { id: "guide-text" }),
      picture: el("canvas", { id: "guide-picture", role: "img", "aria-label": t("The camera's picture"), width: 320, height: 240 }),
      advice: el("ul", { class: "advice" }),
      purpose: el("div", { id: "guide-purpose", hidden: "" }),
      value: el("p", { id: "guide-value" }),
      found: el("div", { id: "guide-found" }),
      question: el("p", { class: "question", role: "alert", hidden: "" }),
      message: el("p", { id: "guide-message", role: "status" }, t("The robot is entering maintenance")),
      buttons: el("div", { class: "holds", id: "guide-buttons" }),
      end: el("button", { class: "plain", id: "guide-end", click: () => this.end() }, t("End calibration")),
    };
    const canvas = part.picture;
    canvas.addEventListener("pointerdown", (e) => this.#grip(e));
    canvas.addEventListener("pointermove", (e) => this.#drag(e));
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (e) => this.#letGo(e));
    const told = el("div", { class: "card told" }, el("div", { class: "row" }, part.heading, part.place), part.guidance,
      part.purpose, part.value, part.question, part.message, part.buttons, part.found);
    const seen = el("figure", {}, canvas, el("figcaption", {}, part.advice));
    this.root = el("div", { class: "guide", keydown: (e) => this.#key(e) }, told, seen, part.end);
    room.replaceChildren(this.root);
  }

  /** Draws everything again in the page's language; a calibration continues. */
  speak() {
    const state = this.#state;
    this.#build(this.root.parentElement);
    if (!state) return;
    this.#state = null;
    this.#show(state);
  }

  get #outline() {
    return this.#state?.contents.outline ?? null;
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

  #send(press) {
    if (this.#socket.readyState !== WebSocket.OPEN || !this.#state) return;
    this.#socket.send(JSON.stringify({ ...press, dialog: this.#state.dialog }));
  }

  #show(state) {
    const before = this.#state, part = this.#part, { contents, notice, place } = state;
    const isNew = before?.dialog !== state.dialog;
    this.#state = state;
    if (!this.#isHeld) this.#dragged = null;
    part.heading.textContent = guided(state.heading);
    part.guidance.textContent = guided(state.guidance, state.parameters);
    part.place.textContent = place ? t("step {number} of {count}", { number: place[0], count: place[1] }) : "";
    part.message.textContent = [guided(notice.text, notice.parameters), notice.about].filter(Boolean).join(": ");
    part.message.className = notice.mood;
    part.question.hidden = !contents.question;
    part.question.textContent = contents.question;
    this.root.dataset.busy = state.busy;
    part.purpose.hidden = !contents.purpose;
    if (!same(before?.contents.purpose, contents.purpose)) part.purpose.replaceChildren(...(contents.purpose ? purposeOf(contents.purpose) : []));
    part.value.replaceChildren(...(contents.value ? valueOf(contents.value) : []));
    // Keep the buttons if they are the same: a person may be holding one down.
    if (!same(before?.actions, state.actions)) {
      part.buttons.replaceChildren(...state.actions.filter((action) => !action.by_key).map((action) => this.#buttonOf(action)));
    }
    for (const button of part.buttons.children) button.disabled = state.busy && button.classList.contains("hold");
    const { columns, lines } = contents;
    if (isNew || !same([before.contents.columns, before.contents.lines], [columns, lines])) this.#showLines(contents, isNew);
    part.picture.tabIndex = contents.outline ? 0 : -1;
    part.advice.replaceChildren(...contents.advice.map((line) => el("li", {}, line)));
    this.#connection.wantFrames("guide", !contents.outline && this.root.isConnected && !this.root.closest("[hidden]"));
    this.#draw();
    if (!isNew) return;
    part.heading.focus({ preventScroll: true });
    this.root.scrollIntoView();
  }

  #buttonOf({ do: what, label, moves }) {
    const act = () => this.#send({ do: what });
    const button = el("button", { class: moves ? "hold" : "plain", "data-do": what, ...(moves ? {} : { click: act }) }, guided(label));
    if (moves) new Hold(button, act, (text) => { this.#part.message.textContent = text; });
    return button;
  }

  #showLines({ columns, lines }, isNew) {
    const found = this.#part.found, buttons = () => [...found.querySelectorAll("button")];
    const focused = buttons().indexOf(document.activeElement);
    found.replaceChildren(...(lines.length ? [columns.length ? this.#table(columns, lines) : this.#list(lines)] : []));
    if (focused >= 0 && !isNew) buttons()[focused]?.focus();
  }

  #list(lines) {
    return el("ul", { class: "choices" }, lines.map(({ cells }, row) =>
      el("li", {}, el("button", { class: "plain", click: () => this.#send({ do: "open", row }) }, guided(cells[0])),
        el("span", { class: "quiet" }, cells.slice(1).filter(Boolean).map((cell) => guided(cell)).join(", ")))));
  }

  #table(columns, lines) {
    const heads = columns.map((column) => [guided(column)]);
    const body = lines.map(({ cells, colour, opens }, row) => el("tr", {}, cells.map((cell, i) => {
      if (i > 0) return el("td", {}, guided(cell));
      const swatch = colour && el("i", { class: "swatch" });
      if (swatch) swatch.style.background = `rgb(${colour.join()})`;
      return el("td", {}, swatch, opens ? el("button", { click: () => this.#send({ do: "open", row }) }, `${cell} ${cells[1] ?? ""}`.trim()) : cell);
    })));
    // The button that opens a line has its first two cells as the label.
    if (lines[0].opens) body.forEach((line) => line.children[1]?.remove());
    const shown = lines[0].opens ? [[heads.slice(0, 2).join(", ")], ...heads.slice(2)] : heads;
    return table(t("Found"), shown, body);
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
    const outline = this.#dragged ?? this.#outline;
    if (!outline) return;
    const points = outline.corners.map(([x, y]) => [x * image.width, y * image.height]);
    for (const [colour, width] of [["#000", image.width / 100], ["#ff0", image.width / 200]]) {
      g.strokeStyle = colour;
      g.lineWidth = width;
      g.beginPath();
      points.forEach((point, i) => (i ? g.lineTo(...point) : g.moveTo(...point)));
      g.closePath();
      g.stroke();
    }
    points.forEach(([x, y], i) => {
      g.fillStyle = i === outline.chosen ? "#f0f" : "#ff0";
      g.beginPath();
      g.arc(x, y, image.width / 60, 0, 7);
      g.fill();
      g.stroke();
    });
  }

  /** Position of a pointer as a share of the picture, which is in the middle of its canvas. */
  #at(event) {
    const canvas = this.#part.picture, box = canvas.getBoundingClientRect();
    const scale = Math.min(box.width / canvas.width, box.height / canvas.height);
    const left = box.left + (box.width - scale * canvas.width) / 2, top = box.top + (box.height - scale * canvas.height) / 2;
    const size = [scale * canvas.width, scale * canvas.height];
    return { part: [(event.clientX - left) / size[0], (event.clientY - top) / size[1]], size };
  }

  #grip(event) {
    const outline = this.#outline;
    if (!outline) return;
    const { part, size } = this.#at(event);
    const far = outline.corners.map(([x, y]) => Math.hypot((x - part[0]) * size[0], (y - part[1]) * size[1]));
    const chosen = far.indexOf(Math.min(...far));
    if (far[chosen] > GRIP_PX) return;
    event.preventDefault();
    this.#part.picture.setPointerCapture(event.pointerId);
    this.#dragged = { ...outline, chosen };
    this.#isHeld = true;
    this.#draw();
  }

  #drag(event) {
    if (!this.#isHeld) return;
    const place = this.#at(event).part.map((at) => Math.min(1, Math.max(0, at)));
    const { corners, chosen } = this.#dragged;
    this.#dragged.corners = corners.map((corner, i) => (i === chosen ? place : corner));
    this.#draw();
    if (performance.now() - this.#sentAt > DRAG_EVERY_MS) this.#sendCorner();
  }

  #letGo(event) {
    if (!this.#isHeld) return;
    this.#part.picture.releasePointerCapture(event.pointerId);
    this.#sendCorner();
    this.#isHeld = false;
  }

  #sendCorner() {
    const { corners, chosen } = this.#dragged, [x, y] = corners[chosen];
    this.#sentAt = performance.now();
    this.#send({ do: "put", corner: chosen, x, y });
  }

  #key(event) {
    // Tab moves to the next button. Enter presses the focused button, only once if held down, because
    // the value it keeps counts as confirmed by a person.
    if (event.key === "Enter" && event.repeat) event.preventDefault();
    if (event.altKey || event.metaKey || event.key === "Tab" || event.key === "Enter") return;
    if (event.repeat && !/^(Arrow|Page)/.test(event.key)) return;
    const key = `${event.ctrlKey ? "Control+" : ""}${event.shiftKey && event.key.length > 1 ? "Shift+" : ""}${event.key}`;
    const action = this.#state?.actions.find((one) => one.key === key && !one.moves);
    if (!action) return;
    this.#send({ do: action.do });
    event.preventDefault();
  }
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Shows the right state for a position: sentences, and a drawing in characters. */
function purposeOf({ right, cube, touch, watch, drawing }) {
  return [
    el("p", {}, el("b", {}, guided(right)), ` ${guided(cube)} ${guided(touch)}`),
    el("p", {}, t("Watch the picture:"), " ", guided(watch)),
    el("pre", { "aria-hidden": "true" }, drawing),
  ];
}

function valueOf({ text, unit, limits, kept, original }) {
  const about = [];
  if (limits) about.push(t("from {low} to {high}", { low: limits[0], high: limits[1] }));
  if (kept !== null) about.push(t("kept: {kept}", { kept }));
  if (original !== null) about.push(t("the profile says {original}", { original }));
  return [el("b", {}, text), ` ${unit} `, el("span", { class: "quiet" }, about.join("; "))];
}

function jpegOf(base64) {
  return new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], { type: "image/jpeg" });
}
