// Connects the address, the controls, the tours and the pages.
import { backend } from "./backend.js";
import { Controls } from "./controls.js";
import { DynamicsPage } from "./dynamics.js";
import { HeadsPage } from "./heads.js";
import { math } from "./format.js";
import { listen } from "./keyboard.js";
import { ModelPage } from "./model.js";
import { onSchemeChange } from "./palette.js";
import { fromHash, toHash } from "./state.js";
import { Tour } from "./tour.js";
import { Work } from "./work.js";

const $ = (id) => document.getElementById(id);
// Slides of a presentation without a tour: the answer, the words and the figures of every step, maps and errors.
const slides = (steps) => [
  { step: 0, show: "answer" },
  ...[...Array(steps).keys()].flatMap((step) => [
    { step, show: "proof" },
    { step, show: "figures" },
  ]),
  { step: steps - 1, show: "maps" },
  { step: steps - 1, show: "prediction" },
];
// Pause in milliseconds after which further typing adds an entry to the history.
const PAUSE = 1500;

let state = fromHash(location.hash),
  options,
  controls,
  tour,
  timer = null,
  typed = { field: "", at: 0 };
const work = new Work(problem),
  model = new ModelPage(work, change),
  dynamics = new DynamicsPage(work, change),
  heads = new HeadsPage(work, change),
  pages = { model, dynamics, heads };

// The page's status for tests and scripts: busy, ready or problem.
function standing(name) {
  document.body.dataset.state = name;
}

function problem(message) {
  $("problem").hidden = message === null;
  $("problem").replaceChildren(math(message ?? ""));
  if (message !== null) standing("problem");
}

// Change the state and add an entry to the history; one gesture, such as typing a word, adds a single entry.
function change(changes, { typing = null, replace = false } = {}) {
  const going = typing !== null && typed.field === typing && performance.now() - typed.at < PAUSE;
  typed = { field: typing ?? "", at: performance.now() };
  state = { ...state, ...changes };
  history[going || replace ? "replaceState" : "pushState"](null, "", toHash(state));
  clearTimeout(timer);
  show();
  if (typing !== null) timer = setTimeout(refresh, 150);
  else refresh();
}

function show() {
  standing("busy");
  for (const button of document.querySelectorAll("[data-page]"))
    button.setAttribute("aria-current", button.dataset.page === state.page ? "page" : "false");
  for (const name in pages) $(`${name}-page`).hidden = state.page !== name;
  for (const button of document.querySelectorAll("button[data-show]"))
    button.setAttribute("aria-pressed", String(button.dataset.show === (state.show === "figures" ? "proof" : state.show)));
  document.documentElement.classList.toggle("present", state.present);
  document.body.dataset.show = state.show;
  document.body.dataset.hide = state.hide;
  document.body.toggleAttribute("data-tour", Boolean(state.tour));
  $("present").setAttribute("aria-pressed", String(state.present));
  controls.show(state);
  tour.show(state);
}

async function refresh() {
  if (await (pages[state.page] ?? model).show(state)) standing("ready");
}

// While presenting: reveal the hidden parts of a stop, then go to the next stop of the tour, or to the next slide.
function slide(by) {
  if (state.tour) (by > 0 && tour.reveal()) || tour.turn(by);
  else if (state.page !== "model") pages[state.page].move(by);
  else {
    const all = slides(model.steps),
      at = all.findIndex(({ step, show }) => show === state.show && (step === state.step || !["proof", "figures"].includes(show)));
    if (all[at + by]) change(all[at + by]);
  }
}

// The state of an address; that of a tour alone is the state of its first stop, and `hide` may reveal it.
function addressed(hash) {
  const words = new URLSearchParams(hash.replace(/^#/, "")),
    found = fromHash(hash);
  if (words.has("tour") && [...words.keys()].every((name) => ["tour", "stop", "present", "hide"].includes(name))) {
    const stop = tour.state(found.tour, found.stop, found.present);
    return withText(stop ? { ...stop, hide: words.has("hide") ? found.hide : stop.hide } : { ...found, tour: "" });
  }
  return withText(found);
}

const withText = (found) => (found.text === null ? { ...found, text: options.example } : found);

async function start() {
  try {
    options = await backend.options();
  } catch (error) {
    problem(error.message);
    return;
  }
  tour = new Tour(options.tours, (next) => change(withText(next)));
  controls = new Controls(options, change);
  dynamics.options = options;
  model.prices = options.price;
  state = addressed(location.hash || (options.opening ? `#tour=${options.opening}` : ""));
  for (const button of document.querySelectorAll("[data-page]"))
    button.addEventListener("click", () => change({ page: button.dataset.page }));
  for (const button of document.querySelectorAll("button[data-show]"))
    button.addEventListener("click", () => change({ show: button.dataset.show }));
  for (const button of document.querySelectorAll("button[data-slide]"))
    button.addEventListener("click", () => slide(Number(button.dataset.slide)));
  $("present").addEventListener("click", () => change({ present: !state.present }));
  $("leave").addEventListener("click", () => leave());
  $("copy").addEventListener("click", copy);
  addEventListener("popstate", () => {
    if (location.hash === toHash(state)) return;
    state = addressed(location.hash);
    show();
    refresh();
  });
  onSchemeChange(() => {
    for (const page of Object.values(pages)) page.repaint(state);
  });
  listen({
    position: (by) => pages[state.page].move(by),
    step: (by) => state.page === "model" && state.show === "proof" && model.turn(by),
    slide,
    leave,
    presenting: () => state.present,
  });
  history.replaceState(null, "", toHash(state));
  show();
  refresh();
}

function leave() {
  change({ present: false });
  $("present").focus();
}

async function copy() {
  try {
    await navigator.clipboard.writeText(location.href);
    $("copy").textContent = "Copied";
  } catch {
    $("copy").textContent = "Copy it from the address bar";
  }
  setTimeout(() => ($("copy").textContent = "Copy link"), 1500);
}

start();
