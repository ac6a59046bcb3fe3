// What a conditional model can answer, by repeated passes of its network. A row is an array of codes, NaN where missing.
// An engine, or the promise of one, has a method: logits(rows) with rows as one Float32Array, resolving to [steps, rows, C] as a Float32Array.

const PART = 2 ** 20; // numbers in one answer of an engine, at most
const BODY = 2 ** 18; // bytes in one question

export class Model {
  constructor(about, engine) {
    Object.assign(this, about);
    this.engine = engine;
    this.size = this.levels.length;
    this.first = []; // the first column of each variable: binary ones have one, others one a level
    let columns = 0;
    for (const n of this.levels) {
      this.first.push(columns);
      columns += n === 2 ? 1 : n;
    }
    this.columns_ = columns;
    this.opening = this.opening?.map((code) => code ?? NaN);
    this.names = this.columns ?? this.levels.map((_, j) => `column ${j + 1}`);
    this.words = this.levels.map((n, j) => this.values?.[j] ?? Array.from({ length: n }, (_, level) => String(level)));
  }

  get rowsAtOnce() {
    return Math.max(1, Math.floor(Math.min(PART / (this.steps * this.columns_), BODY / (4 * this.size))));
  }

  // Returns a function (step, row, variable) that gives the probabilities of the variable's levels.
  async ask(rows) {
    if (this.answer && rows.length === 1 && rows[0].every((code, j) => Object.is(code, this.opening[j]))) {
      const logits = unpacked(this.answer);
      this.answer = null;
      return (step, _, variable) =>
        this.probabilities(logits, step * this.columns_ + this.first[variable], variable);
    }
    const size = Math.min(this.rowsAtOnce, rows.length);
    const parts = [];
    for (let start = 0; start < rows.length; start += size) {
      const part = rows.slice(start, start + size);
      const codes = new Float32Array(part.length * this.size);
      part.forEach((row, i) => codes.set(row, i * this.size));
      parts.push({ n: part.length, logits: await (await this.engine).logits(codes, part.length) });
    }
    return (step, row, variable) => {
      const { n, logits } = parts[Math.floor(row / size)];
      return this.probabilities(logits, (step * n + (row % size)) * this.columns_ + this.first[variable], variable);
    };
  }

  probabilities(logits, at, variable) {
    const n = this.levels[variable];
    if (n === 2) {
      return [1 / (1 + Math.exp(logits[at])), 1 / (1 + Math.exp(-logits[at]))];
    }
    const scores = Array.from(logits.subarray(at, at + n));
    const top = Math.max(...scores);
    const weights = scores.map((score) => Math.exp(score - top));
    const sum = weights.reduce((a, b) => a + b);
    return weights.map((weight) => weight / sum);
  }

  hidden(row) {
    return Array.from(row.keys()).filter((j) => Number.isNaN(row[j]));
  }

  // Draws the missing cells of copies of a row along a random ordering, a few at a time; yields the copies as they fill.
  async *completions(row, { copies = 1, atOnce = 1, random = Math.random } = {}) {
    const rows = Array.from({ length: copies }, () => Float32Array.from(row));
    const waiting = shuffled(this.hidden(row), random);
    while (waiting.length) {
      const answer = await this.ask(rows);
      const cells = waiting.splice(0, atOnce);
      rows.forEach((copy, i) => {
        for (const j of cells) copy[j] = drawn(answer(this.steps - 1, i, j), random);
      });
      yield { rows, left: waiting.length };
    }
  }

  // The exact log-probability, in nats, of what is known under one random ordering: one pass a known cell. Yields sums.
  async *logLikelihood(row, { random = Math.random, atOnce = 8 } = {}) {
    const order = shuffled(Array.from(row.keys()).filter((j) => !Number.isNaN(row[j])), random);
    let sum = 0;
    for (let start = 0; start < order.length; start += atOnce) {
      const cells = order.slice(start, start + atOnce);
      const before = cells.map((_, i) => {
        const prefix = new Float32Array(this.size).fill(NaN);
        for (const j of order.slice(0, start + i)) prefix[j] = row[j];
        return prefix;
      });
      const answer = await this.ask(before);
      cells.forEach((j, i) => (sum += Math.log(answer(this.steps - 1, i, j)[row[j]])));
      yield { sum, done: start + cells.length, all: order.length };
    }
  }

  // The expected information of each missing cell about the targets, in nats; NaN where known. This is
  // `expected_information` of nadek.inference: the gain is exact over the model's answers, one question ahead.
  async expectedInformation(row, target = null) {
    const gain = new Float64Array(this.size).fill(NaN);
    const missing = this.hidden(row);
    const now = await this.ask([row]);
    const last = this.steps - 1;
    for (const cells of inParts(missing, this.levels, this.rowsAtOnce)) {
      const questions = cells.flatMap((j) =>
        Array.from({ length: this.levels[j] }, (_, level) => {
          const answered = Float32Array.from(row);
          answered[j] = level;
          return answered;
        }),
      );
      const then = await this.ask(questions);
      let at = 0;
      for (const j of cells) {
        const weights = now(last, 0, j);
        const others = missing.filter((t) => t !== j && (target === null || t === target));
        gain[j] = 0;
        for (const t of others) {
          const after = weights.map((_, level) => then(last, at + level, t));
          const mean = after[0].map((_, k) => weights.reduce((sum, weight, level) => sum + weight * after[level][k], 0));
          weights.forEach((weight, level) => (gain[j] += weight * Math.max(0, divergence(after[level], mean))));
        }
        if (j === target) gain[j] += -weights.reduce((sum, p) => sum + xlogy(p, p), 0);
        at += weights.length;
      }
    }
    return gain;
  }
}

// The page brings the answer to its first question, as the engine takes longer to arrive: float32 in base64.
function unpacked(text) {
  return new Float32Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);
}

const xlogy = (x, y) => (x === 0 ? 0 : x * Math.log(y));

function divergence(p, q) {
  return p.reduce((sum, value, k) => sum + xlogy(value, value) - xlogy(value, Math.max(q[k], Number.MIN_VALUE)), 0);
}

function drawn(probabilities, random) {
  let u = random();
  const level = probabilities.findIndex((p) => (u -= p) < 0);
  return level < 0 ? probabilities.length - 1 : level;
}

export const nats = (value) => `${value.toFixed(2).replace("-", "−")} nats`;

export function shuffled(items, random = Math.random) {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const k = Math.floor(random() * (i + 1));
    [order[i], order[k]] = [order[k], order[i]];
  }
  return order;
}

function* inParts(cells, levels, most) {
  let part = [];
  let rows = 0;
  for (const j of cells) {
    if (part.length && rows + levels[j] > most) {
      yield part;
      [part, rows] = [[], 0];
    }
    part.push(j);
    rows += levels[j];
  }
  if (part.length) yield part;
}
