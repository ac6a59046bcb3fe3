// Visits the page in a real browser: node page.mjs CHROMIUM PROFILE ADDRESS EXPECTED [PICTURES].
// EXPECTED is JSON: for a survey a list of {answers, target, next, gain}, for a picture null. Chromium is driven by its
// DevTools protocol through pipes, so that nothing has to be installed beside it. PICTURES is a folder for screenshots.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";

const [chromium, profile, address, expected, pictures] = process.argv.slice(2);
const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"];
const child = spawn(chromium, [...flags, `--user-data-dir=${profile}`], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const waiting = new Map();
let rest = "";
child.stdio[4].setEncoding("utf8").on("data", (text) => {
  const messages = (rest + text).split("\0");
  rest = messages.pop();
  for (const { id, result, error } of messages.map((message) => JSON.parse(message))) {
    waiting.get(id)?.(error ? Promise.reject(new Error(error.message)) : result);
  }
});
let session = {};
let last = 0;

function call(method, params = {}) {
  const id = ++last;
  child.stdio[3].write(JSON.stringify({ id, method, params, ...session }) + "\0");
  return new Promise((resolve) => waiting.set(id, resolve));
}

async function run(code) {
  const { result, exceptionDetails } = await call("Runtime.evaluate", { expression: code, returnByValue: true });
  assert(!exceptionDetails, `${code}: ${JSON.stringify(exceptionDetails)}`);
  return result.value;
}

async function wait(code, seconds = 60) {
  for (const end = Date.now() + 1000 * seconds; Date.now() < end; await new Promise((next) => setTimeout(next, 20))) {
    const value = await run(code);
    if (value) return value;
  }
  throw new Error(`never true: ${code}; the page says: ${await run("document.body.innerText")}`);
}

async function press(key) {
  const text = key.length === 1 ? key : undefined;
  for (const type of ["keyDown", "keyUp"]) await call("Input.dispatchKeyEvent", { type, key, text });
}

async function photograph(name) {
  if (!pictures) return;
  const { data } = await call("Page.captureScreenshot", { format: "png" });
  writeFileSync(`${pictures}/${name}.png`, Buffer.from(data, "base64"));
}

async function wear({ width, height, theme }) {
  await call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 500 });
  await call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: theme }] });
}

async function open(address) {
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  session = { sessionId: (await call("Target.attachToTarget", { targetId, flatten: true })).sessionId };
  await wear({ width: 1180, height: 820, theme: "light" });
  await call("Page.navigate", { url: address });
  await wait("document.body?.dataset.ready");
}

// Every control has a name for screen readers, and Tab reaches the first of them.
async function checkAccess() {
  const { nodes } = await call("Accessibility.getFullAXTree");
  const roles = ["button", "radio", "slider", "combobox", "link", "application", "progressbar"];
  const controls = nodes.filter((node) => !node.ignored && roles.includes(node.role?.value));
  assert(controls.length > 10);
  assert.deepEqual(controls.filter((node) => !node.name?.value).map((node) => node.role.value), []);
}

async function visitPicture() {
  await wait("step.value === step.max");
  await photograph("play-digit");
  const brought = await run("cell.textContent"); // the first answer comes with the page, this one from the engine:
  for (const button of ["'hide-all'", "'undo'"]) {
    await run(`document.getElementById(${button}).click()`);
    await wait("board.ariaBusy === 'false'");
  }
  assert.equal(await run("cell.textContent"), brought);
  const [left, top, size] = await run("(({ x, y, width }) => [x, y, width])(board.getBoundingClientRect())");
  await run("blank.click()");
  for (const [type, x] of [["mousePressed", 0.3], ["mouseMoved", 0.6], ["mouseReleased", 0.6]]) {
    const at = { x: left + size * x, y: top + size * 0.3 };
    await call("Input.dispatchMouseEvent", { type, ...at, button: "left", clickCount: 1 });
  }
  assert.equal(await run("cell.textContent"), "Row 9, column 17: ink.");
  await run("document.getElementById('hide-half').click()"); // the right one
  await wait("board.ariaBusy === 'false'");
  await run("board.focus()");
  await press("ArrowDown");
  const guesses = [];
  for (let t = 0; t <= (await run("Number(step.max)")); t++) {
    await run(`document.querySelectorAll('#steps button')[${t}].click()`);
    const about = `/^Row 10, column 17: hidden, ink with probability (.*) at v.${t}.\\.$/`;
    guesses.push(Number(await wait(`cell.textContent.match(${about})?.[1]`)));
  }
  assert(Math.abs(guesses.at(-1) - guesses[0]) > 0.01, `${guesses}`);
  await press("i");
  await press(" ");
  assert.equal(await run("cell.textContent"), "Row 10, column 17: ink.");
  await run("undo.click()");
  await wait("board.ariaBusy === 'false'");
  await run("draw.click()");
  await wait("document.querySelectorAll('#completions button:enabled').length === 6");
  await run("score.click()");
  assert.match(await wait("scored.textContent && likelihood.textContent"), /^−\d+\.\d\d nats$/);
}

async function visitSurvey(suggestions) {
  for (const { answers, target, next, gain } of suggestions) {
    for (const [j, level] of answers) await run(`document.querySelector('input[name=q${j}][value="${level}"]').click()`);
    await run(`target.value = '${target ?? ""}', target.dispatchEvent(new Event("change"))`);
    await wait(`document.getElementById("next").textContent === ${JSON.stringify(next)}`);
    await wait(`document.querySelector("#ranking b").textContent === "${gain.toFixed(3)}"`);
  }
}

try {
  await open(address);
  await checkAccess();
  const suggestions = JSON.parse(expected);
  await (suggestions ? visitSurvey(suggestions) : visitPicture());
  await new Promise((next) => setTimeout(next, 500)); // bars grow
  await photograph(suggestions ? "play-survey" : "play-drawn");
  await wear({ width: 390, height: 844, theme: "dark" });
  assert.equal(await run("document.documentElement.scrollWidth"), 390);
  await photograph(suggestions ? "play-survey-phone" : "play-digit-phone");
} finally {
  child.kill();
}
