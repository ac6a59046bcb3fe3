// The page of a model of pictures: a board to draw and hide on, guesses step by step, completions, and likelihoods.

import { $ } from "./play.js";
import { nats, shuffled } from "./model.js";

const INK = { ink: 1, paper: 0, hide: NaN };
const COPIES = 6;
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");

export async function showPicture(model) {
  $("picture").hidden = false;
  await new Picture(model).begin();
}

class Picture {
  constructor(model) {
    this.model = model;
    [this.height, this.width] = model.image_shape;
    this.row = new Float32Array(model.size);
    this.states = []; // v<0> to v<k>: the probability of ink of every pixel
    this.shown = model.steps; // the step on the board; between two steps while it moves
    this.cursor = { x: this.width >> 1, y: this.height >> 1, visible: false };
    this.undo = [];
    this.half = 0;
    this.orderings = [];
    this.repaint = () => {}; // of the completions
    this.board = canvasOf(this.width, this.height, $("board"), 20);
    this.makeSteps();
    this.listen();
  }

  async begin() {
    this.row.set(this.model.opening ?? seven(this.height, this.width));
    if (!this.model.opening) this.hide((x, y) => y >= this.height / 2);
    this.shown = 0;
    this.paint();
    await this.guess();
    this.watch();
  }

  makeSteps() {
    const { steps } = this.model;
    $("about-steps").textContent =
      `v⟨0⟩ is ${this.model.fill.every((p) => p === 0) ? "paper" : "the mean of the training pictures"}. ` +
      (steps > 1 ? `Each of ${steps} steps reads the guess of the one before.` : "This model needs one step.");
    this.thumbs = Array.from({ length: steps + 1 }, (_, t) => {
      const button = document.createElement("button");
      const picture = canvasOf(this.width, this.height);
      button.append(picture.canvas, `v⟨${t}⟩`);
      button.setAttribute("aria-label", `Show step ${t}`);
      button.addEventListener("click", () => this.show(t));
      $("steps").append(button);
      return { button, picture };
    });
    $("step").max = steps;
    $("step").addEventListener("input", () => this.show(Number($("step").value)));
  }

  listen() {
    const board = $("board");
    const at = (event) => {
      const box = board.getBoundingClientRect();
      return {
        x: ((event.clientX - box.left) / box.width) * this.width,
        y: ((event.clientY - box.top) / box.height) * this.height,
      };
    };
    let last = null;
    board.addEventListener("pointerdown", (event) => {
      board.setPointerCapture(event.pointerId);
      this.remember();
      last = at(event);
      this.stroke(last, last);
    });
    board.addEventListener("pointermove", (event) => {
      if (last === null) return;
      for (const moved of event.getCoalescedEvents?.() ?? [event]) {
        const now = at(moved);
        this.stroke(last, now);
        last = now;
      }
    });
    for (const end of ["pointerup", "pointercancel"]) board.addEventListener(end, () => (last = null));
    board.addEventListener("keydown", (event) => this.key(event));
    for (const [name, visible] of [["focus", true], ["blur", false]]) {
      board.addEventListener(name, () => {
        this.cursor.visible = visible && board.matches(":focus-visible");
        this.paint();
      });
    }
    $("hide-half").addEventListener("click", () => this.hideHalf());
    $("hide-most").addEventListener("click", () => {
      const kept = new Set(shuffled([...this.row.keys()]).slice(0, this.row.length / 5));
      this.change(() => this.hide((x, y) => !kept.has(y * this.width + x)));
    });
    $("hide-all").addEventListener("click", () => this.change(() => this.row.fill(NaN)));
    $("blank").addEventListener("click", () => this.change(() => this.row.fill(0)));
    $("undo").addEventListener("click", () => {
      if (this.undo.length) this.changed(this.undo.pop());
    });
    $("watch").addEventListener("click", () => this.watch());
    $("draw").addEventListener("click", () => this.draw());
    $("score").addEventListener("click", () => this.score());
    dark.addEventListener("change", () => {
      this.paint();
      this.repaint();
    });
  }

  get tool() {
    return document.querySelector("input[name=tool]:checked").value;
  }

  key(event) {
    const { cursor } = this;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const tools = { i: "ink", p: "paper", h: "hide" };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key]) {
      cursor.x = Math.min(this.width - 1, Math.max(0, cursor.x + moves[event.key][0]));
      cursor.y = Math.min(this.height - 1, Math.max(0, cursor.y + moves[event.key][1]));
    } else if (event.key === " ") {
      this.change(() => (this.row[cursor.y * this.width + cursor.x] = INK[this.tool]));
    } else if (tools[event.key.toLowerCase()]) {
      document.querySelector(`input[value=${tools[event.key.toLowerCase()]}]`).checked = true;
    } else {
      return;
    }
    event.preventDefault();
    cursor.visible = true;
    this.paint();
  }

  // Uses the tool on all pixels near the way from one point to another.
  stroke(from, to) {
    const radius = this.tool === "hide" ? 2 : 1.15;
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const long = dx * dx + dy * dy || 1;
    this.each((x, y, j) => {
      const [px, py] = [x + 0.5 - from.x, y + 0.5 - from.y];
      const along = Math.min(1, Math.max(0, (px * dx + py * dy) / long));
      if (Math.hypot(px - along * dx, py - along * dy) < radius) this.row[j] = INK[this.tool];
    });
    Object.assign(this.cursor, { x: clip(to.x, this.width), y: clip(to.y, this.height) });
    this.changed();
  }

  hide(where) {
    this.each((x, y, j) => {
      if (where(x, y)) this.row[j] = NaN;
    });
  }

  hideHalf() {
    const sides = [
      (x) => x >= this.width / 2,
      (x, y) => y < this.height / 2,
      (x) => x < this.width / 2,
      (x, y) => y >= this.height / 2,
    ];
    this.change(() => this.hide(sides[this.half++ % sides.length]));
  }

  each(visit) {
    for (let j = 0; j < this.row.length; j++) visit(j % this.width, Math.floor(j / this.width), j);
  }

  remember() {
    this.undo.push(this.row.slice());
  }

  change(edit) {
    this.remember();
    edit();
    this.changed();
  }

  changed(row = this.row) {
    $("board").ariaBusy = true;
    this.row = row;
    this.orderings = [];
    this.scoring = null;
    $("likelihood").textContent = "–";
    $("scored").textContent = "";
    $("score-bar").value = 0;
    this.guess();
    this.paint();
  }

  // Asks for all guesses; while an answer is on its way, later changes wait for it together.
  async guess() {
    if (this.asking) {
      this.again = true;
      return;
    }
    this.asking = true;
    $("board").ariaBusy = true;
    do {
      this.again = false;
      const row = this.row.slice();
      const answer = await this.model.ask([row]);
      const known = (guess) => row.map((value, j) => (Number.isNaN(value) ? guess(j) : value));
      this.states = [known((j) => this.model.fill[j])];
      for (let t = 0; t < this.model.steps; t++) this.states.push(known((j) => answer(t, 0, j)[1]));
    } while (this.again);
    this.asking = false;
    this.paint();
    $("board").ariaBusy = false;
  }

  show(step) {
    cancelAnimationFrame(this.frame);
    this.shown = step;
    this.paint();
  }

  watch() {
    const begin = performance.now();
    const { steps } = this.model;
    const move = (now) => {
      const time = Math.max(0, now - begin) / 620; // a step, half of it at rest
      const step = Math.floor(time);
      const way = Math.min(1, (time - step) * 2);
      this.shown = Math.min(steps, step + (calm.matches ? 0 : way * way * (3 - 2 * way)));
      this.paint();
      if (this.shown < steps) this.frame = requestAnimationFrame(move);
    };
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(move);
  }

  paint() {
    const nearest = Math.round(this.shown);
    const [below, above] = [this.states[Math.floor(this.shown)], this.states[Math.ceil(this.shown)]];
    const way = this.shown % 1;
    this.board.draw(this.row, (j) => (below ? below[j] + way * (above[j] - below[j]) : 0.5), this.cursor);
    this.thumbs.forEach(({ button, picture }, t) => {
      if (this.states[t]) picture.draw(this.row, (j) => this.states[t][j]);
      button.setAttribute("aria-pressed", t === nearest);
    });
    $("step").value = nearest;
    $("step-name").textContent = `v⟨${nearest}⟩`;
    $("cell").ariaLive = this.cursor.visible ? "polite" : "off";
    $("cell").textContent = this.aboutCell(nearest);
    $("undo").disabled = !this.undo.length;
    const hidden = this.model.hidden(this.row).length;
    $("draw").disabled = !hidden || this.drawing;
    $("score").disabled = hidden === this.row.length || this.scoring;
  }

  aboutCell(step) {
    const { x, y } = this.cursor;
    const j = y * this.width + x;
    const what = this.row[j] === 1 ? "ink" : "paper";
    const guess = this.states[step]?.[j].toFixed(3);
    const is = Number.isNaN(this.row[j]) ? `hidden, ink with probability ${guess} at v⟨${step}⟩` : what;
    return `Row ${y + 1}, column ${x + 1}: ${is}.`;
  }

  async draw() {
    const row = this.row.slice();
    this.drawing = true;
    this.paint();
    $("completions").replaceChildren();
    const made = Array.from({ length: COPIES }, (_, i) => {
      const button = document.createElement("button");
      const picture = canvasOf(this.width, this.height);
      button.append(picture.canvas);
      button.setAttribute("aria-label", `Put completion ${i + 1} on the board`);
      button.disabled = true;
      $("completions").append(button);
      return { button, picture };
    });
    const atOnce = Number($("at-once").value);
    const begin = performance.now();
    let frame = 0;
    let filled = [];
    this.repaint = () => made.forEach(({ picture }, i) => picture.draw(row, (j) => filled[i][j], null, filled[i]));
    for await (const { rows, left } of this.model.completions(row, { copies: COPIES, atOnce })) {
      if (left && performance.now() - frame < 30) continue; // pictures for eyes
      filled = rows;
      this.repaint();
      frame = performance.now();
      await new Promise(requestAnimationFrame);
    }
    made.forEach(({ button }, i) => {
      button.disabled = false;
      button.addEventListener("click", () => this.change(() => (this.row = filled[i].slice())));
    });
    $("drawn").textContent = `${COPIES} drawn in ${seconds(performance.now() - begin)}; choose one for the board.`;
    this.drawing = false;
    this.paint();
  }

  async score() {
    const turn = (this.scoring = {});
    this.paint();
    for await (const { sum, done, all } of this.model.logLikelihood(this.row.slice())) {
      if (this.scoring !== turn) return; // the picture has changed
      $("likelihood").textContent = nats(sum);
      $("score-bar").value = done / all;
      if (done === all) this.orderings.push(sum);
      await new Promise((next) => setTimeout(next));
    }
    const n = this.orderings.length;
    const mean = this.orderings.reduce((a, b) => a + b) / n;
    $("scored").textContent = n > 1 ? `mean over ${n} orderings: ${nats(mean)}` : "under one ordering";
    this.scoring = null;
    this.paint();
  }
}

const clip = (value, size) => Math.min(size - 1, Math.max(0, Math.floor(value)));
const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(1)} s`;

// A canvas that draws a picture: paper and ink where it is known, a colour between unsure and sure where it is hidden.
function canvasOf(width, height, canvas = document.createElement("canvas"), scale = 3) {
  [canvas.width, canvas.height] = [width * scale, height * scale];
  const context = canvas.getContext("2d");
  const small = new OffscreenCanvas(width, height);
  const pixels = small.getContext("2d");
  const image = pixels.createImageData(width, height);
  function draw(known, guess, cursor = null, settled = known) {
    const [paper, ink, unsure, sure] = palette();
    for (let j = 0; j < known.length; j++) {
      const isHidden = Number.isNaN(known[j]);
      const p = isHidden && Number.isNaN(guess(j)) ? null : guess(j);
      const colour = isHidden ? (p === null ? paper : mixed(unsure, sure, p)) : known[j] === 1 ? ink : paper;
      image.data.set(colour, 4 * j);
      image.data[4 * j + 3] = settled !== known && Number.isNaN(settled[j]) ? 0 : 255;
    }
    pixels.putImageData(image, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, canvas.width, canvas.height);
    if (cursor?.visible) {
      context.lineWidth = 3;
      context.strokeStyle = `rgb(${sure})`;
      context.strokeRect(cursor.x * scale - 1, cursor.y * scale - 1, scale + 2, scale + 2);
    }
  }
  return { canvas, draw };
}

const mixed = (from, to, way) => from.map((value, i) => value + way * (to[i] - value));

function palette() {
  const style = getComputedStyle(document.documentElement);
  return ["--paper", "--ink", "--unsure", "--sure"].map((name) => {
    const hex = style.getPropertyValue(name).trim().slice(1);
    const six = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
    return [0, 2, 4].map((i) => parseInt(six.slice(i, i + 2), 16));
  });
}

// A picture to begin with, where the model brings none: a seven.
function seven(height, width) {
  const row = new Float32Array(height * width);
  const line = (x0, y0, x1, y1) => {
    for (let t = 0; t <= 1; t += 0.01) {
      const [x, y] = [(x0 + t * (x1 - x0)) * width, (y0 + t * (y1 - y0)) * height];
      for (const [i, k] of [[0, 0], [1, 0], [0, 1], [1, 1]]) row[Math.floor(y + k) * width + Math.floor(x + i)] = 1;
    }
  };
  line(0.27, 0.2, 0.68, 0.18);
  line(0.68, 0.18, 0.43, 0.8);
  return row;
}
