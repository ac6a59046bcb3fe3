// Starts the page: finds its models, loads the one in the address, and shows the part of the page that suits it.

import { engineFor } from "./engines.js";
import { Model } from "./model.js";
import { showPicture } from "./picture.js";
import { showSurvey } from "./survey.js";

export const $ = (id) => document.getElementById(id);

function fail(error) {
  $("loading").hidden = true;
  $("error").hidden = false;
  $("error").textContent = error.message;
  throw error;
}

function showLinks(models, chosen) {
  for (const about of models.length > 1 ? models : []) {
    const link = document.createElement("a");
    link.href = `#${about.name}`;
    link.textContent = about.title ?? about.name;
    if (about === chosen) link.setAttribute("aria-current", "page");
    $("models").append(link);
  }
  if (chosen.home) $("home").href = chosen.home;
  document.title = `nadek: ${chosen.title ?? chosen.name}`;
}

async function start() {
  const models = await (await fetch("models.json")).json();
  const about = models.find(({ name }) => `#${name}` === location.hash) ?? models[0];
  showLinks(models, about);
  const loaded = new Map();
  const answered = new Promise((next) => setTimeout(next)); // the first answer may come along with the page
  const show = (bytes, name) => {
    loaded.set(name, bytes);
    const done = [...loaded.values()].reduce((a, b) => a + b);
    $("loading-bar").value = Math.min(1, done / about.bytes);
    $("loading-text").textContent = `The model is on its way: ${(done / 1e6).toFixed(1)} MB`;
  };
  const engine = answered.then(() => engineFor(about, show));
  const model = new Model(about, engine);
  const isPicture = about.image_shape && about.levels.every((n) => n === 2);
  await (isPicture ? showPicture(model) : showSurvey(model));
  document.body.dataset.answered = Math.round(performance.now());
  $("engine").textContent = `Computed by ${(await engine).name}. Nothing that you do here leaves this machine.`;
  $("loading").hidden = true;
  document.body.dataset.ready = Math.round(performance.now());
}

addEventListener("hashchange", () => location.reload());
addEventListener("unhandledrejection", (event) => fail(event.reason));
start().catch(fail);
