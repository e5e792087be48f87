// Wires the address, the controls and the pages.
import { get } from "./api.js";
import { Controls } from "./controls.js";
import { DynamicsPage } from "./dynamics.js";
import { ModelPage } from "./model.js";
import { math } from "./format.js";
import { onSchemeChange } from "./palette.js";
import { fromHash, toHash, viewRequest } from "./state.js";

const $ = (id) => document.getElementById(id);

// At most one view and one long computation for this page: a newer one of its kind, or the Cancel button, closes the
// request of the older, and the explorer stops computing it.
const work = {
  running: new Map(),
  async do(task, name, kind = "view") {
    this.running.get(kind)?.abort();
    const controller = new AbortController();
    this.running.set(kind, controller);
    const shown = setTimeout(() => {
      $("busy-text").textContent = name;
      $("busy").hidden = false;
    }, 250);
    try {
      const result = await task(controller.signal);
      if (controller.signal.aborted) return undefined;
      problem(null);
      return result;
    } catch (error) {
      if (error.name === "AbortError") {
        if (controller.cancelled) problem("Cancelled; change something to start again.");
        return undefined;
      }
      problem(error instanceof TypeError ? "The explorer does not answer; is it still running?" : error.message);
      return undefined;
    } finally {
      clearTimeout(shown);
      if (this.running.get(kind) === controller) this.running.delete(kind);
      if (!this.running.size) $("busy").hidden = true;
    }
  },
  cancel() {
    for (const controller of this.running.values()) {
      controller.cancelled = true;
      controller.abort();
    }
  },
};

// For whoever waits for the page: busy, ready or problem.
function standing(name) {
  document.body.dataset.state = name;
}

function problem(message) {
  $("problem").hidden = message === null;
  $("problem").replaceChildren(math(message ?? ""));
  if (message !== null) standing("problem");
}

let state = fromHash(location.hash),
  timer = null,
  controls;
const model = new ModelPage(work, change),
  dynamics = new DynamicsPage($("dynamics-page"), work, change);
model.request = () => viewRequest(state);

function change(changes, { typing = false } = {}) {
  const page = changes.page && changes.page !== state.page;
  state = { ...state, ...changes };
  history[page ? "pushState" : "replaceState"](null, "", toHash(state));
  clearTimeout(timer);
  standing("busy");
  show();
  if (typing) timer = setTimeout(refresh, 150);
  else refresh();
}

function show() {
  for (const button of document.querySelectorAll("nav button")) {
    if (button.dataset.page === state.page) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  $("model-page").hidden = state.page !== "model";
  $("dynamics-page").hidden = state.page !== "dynamics";
  controls.show(state);
}

async function refresh() {
  if (await (state.page === "model" ? model : dynamics).show(state)) standing("ready");
}

async function start() {
  let options;
  try {
    options = await get("api/options");
  } catch (error) {
    problem(error.message);
    return;
  }
  if (state.text === null) state.text = options.example;
  controls = new Controls(options, change);
  dynamics.options = options;
  for (const button of document.querySelectorAll("nav button"))
    button.addEventListener("click", () => change({ page: button.dataset.page }));
  $("cancel").addEventListener("click", () => work.cancel());
  $("copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      $("copy").textContent = "Copied";
    } catch {
      $("copy").textContent = "Copy it from the address bar";
    }
    setTimeout(() => ($("copy").textContent = "Copy address"), 1500);
  });
  addEventListener("hashchange", () => {
    state = { ...fromHash(location.hash) };
    if (state.text === null) state.text = options.example;
    standing("busy");
    show();
    refresh();
  });
  onSchemeChange(() => {
    model.repaint(state);
    dynamics.repaint?.();
  });
  history.replaceState(null, "", toHash(state));
  show();
  refresh();
}

start();
