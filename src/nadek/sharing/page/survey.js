// The page of a model of a table: answers, the probabilities of all others, and the question to ask next.

import { nats } from "./model.js";
import { $ } from "./play.js";

const RANKED = 5;
const MOST_QUESTIONS = 3000; // passes for one suggestion

export async function showSurvey(model) {
  $("survey").hidden = false;
  await new Survey(model).begin();
}

class Survey {
  constructor(model) {
    this.model = model;
    this.row = new Float32Array(model.size).fill(NaN);
    if (model.about) $("about-survey").textContent = model.about;
    this.questions = model.names.map((name, j) => this.question(name, j));
    $("questions").append(...this.questions.map(({ box }) => box));
    $("target").append(new Option("all other answers", ""), ...model.names.map((name, j) => new Option(name, j)));
    $("target").addEventListener("change", () => this.suggest());
    $("clear-answers").addEventListener("click", () => this.set(() => this.row.fill(NaN)));
    $("draw-answers").addEventListener("click", () => this.draw());
  }

  async begin() {
    await this.changed();
  }

  question(name, j) {
    const box = document.createElement("fieldset");
    box.className = "card question";
    const legend = document.createElement("legend");
    legend.textContent = name;
    const badge = document.createElement("span");
    badge.className = "badge";
    badge.textContent = "ask next";
    const clear = document.createElement("button");
    clear.textContent = "Clear";
    clear.setAttribute("aria-label", `Clear the answer to ${name}`);
    clear.addEventListener("click", () => {
      this.set(() => (this.row[j] = NaN));
      choices[0].input.focus();
    });
    const list = document.createElement("div");
    list.className = "choices";
    const choices = this.model.words[j].map((word, level) => {
      const label = document.createElement("label");
      label.className = "choice";
      const input = Object.assign(document.createElement("input"), { type: "radio", name: `q${j}`, value: level });
      input.addEventListener("change", () => this.set(() => (this.row[j] = level)));
      const span = document.createElement("span");
      const chance = document.createElement("b");
      span.append(word, chance);
      label.append(input, span);
      list.append(label);
      return { input, span, chance };
    });
    box.append(legend, badge, clear, list);
    return { box, badge, clear, choices };
  }

  set(edit) {
    edit();
    return this.changed();
  }

  async changed() {
    const turn = (this.turn = {});
    const answer = await this.model.ask([this.row]);
    if (turn !== this.turn) return;
    this.questions.forEach(({ clear, choices }, j) => {
      const isKnown = !Number.isNaN(this.row[j]);
      const probabilities = answer(this.model.steps - 1, 0, j);
      clear.hidden = !isKnown;
      choices.forEach(({ input, span, chance }, level) => {
        input.checked = this.row[j] === level;
        span.style.setProperty("--p", isKnown ? 0 : probabilities[level]);
        chance.textContent = isKnown ? "" : percent(probabilities[level]);
      });
    });
    this.suggest().then(() => this.score(turn));
  }

  async suggest() {
    const turn = (this.suggesting = {});
    const { model, row } = this;
    const target = $("target").value === "" ? null : Number($("target").value);
    const hidden = model.hidden(row);
    const isKnown = target !== null && !hidden.includes(target);
    const nQuestions = hidden.reduce((sum, j) => sum + model.levels[j], 0);
    let order = [];
    let gain = [];
    if (nQuestions <= MOST_QUESTIONS && hidden.length > 1 && !isKnown) {
      gain = await model.expectedInformation(row, target);
      if (turn !== this.suggesting) return;
      order = hidden.filter((j) => j !== target).sort((a, b) => gain[b] - gain[a]);
    }
    const next = order[0];
    this.questions.forEach(({ box, badge }, j) => {
      box.classList.toggle("next", j === next);
      badge.hidden = j !== next;
    });
    const why = isKnown ? "The target is known." : nQuestions > MOST_QUESTIONS ? "Too many answers to try." : "Nothing.";
    $("next").textContent = next === undefined ? why : model.names[next];
    $("ranking").replaceChildren(...order.slice(0, RANKED).map((j) => ranked(model.names[j], gain[j], gain[next])));
  }

  async score(turn) {
    const known = this.row.filter((code) => !Number.isNaN(code)).length;
    let total = 0;
    for await (const { sum } of this.model.logLikelihood(this.row)) total = sum;
    if (turn === this.turn) $("answers-likelihood").textContent = known ? nats(total) : "–";
  }

  async draw() {
    for await (const { rows, left } of this.model.completions(this.row)) {
      if (!left) this.row = rows[0];
    }
    await this.changed();
  }
}

const percent = (p) => (p > 0 && p < 0.01 ? "< 1 %" : `${Math.round(100 * p)} %`);

function ranked(name, gain, most) {
  const item = document.createElement("li");
  const value = Object.assign(document.createElement("b"), { textContent: gain.toFixed(3) });
  const bar = document.createElement("i");
  bar.style.transform = `scaleX(${most > 0 ? gain / most : 0})`;
  item.append(Object.assign(document.createElement("span"), { textContent: name }), value, bar);
  return item;
}
