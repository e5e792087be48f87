// The page of one model on one sequence.
import { ownKey, showAnswer } from "./answer.js";
import { backend } from "./backend.js";
import { symbol } from "./format.js";
import { Maps } from "./maps.js";
import { showPrediction } from "./prediction.js";
import { showPrice } from "./price.js";
import { Story } from "./story.js";
import { Strip } from "./strip.js";
import { Tokens } from "./tokens.js";
import { showCertificate, showVerdict, verified } from "./verdict.js";
import { shape, viewRequest } from "./state.js";

const $ = (id) => document.getElementById(id);

export class ModelPage {
  constructor(work, change) {
    this.work = work;
    this.change = change;
    this.compiled = new Set();
    this.tokens = new Tokens($("tokens"), (position) => change({ position }));
    this.strip = new Strip($("strip"));
    this.story = new Story(
      $("steps"),
      $("step"),
      { previous: $("previous-step"), next: $("next-step"), count: $("step-count") },
      (step) => change({ step }),
    );
    this.maps = new Maps(
      { place: $("maps"), readout: $("readout"), dialog: $("large-map") },
      (which) => work.do((signal) => backend.map(this.request, which, signal), "Loading a map…", `map ${which}`),
      change,
    );
  }

  // Resolves to true if the page shows this state, to false if it was refused, cancelled or superseded.
  async show(state) {
    const request = viewRequest(state),
      key = JSON.stringify(request);
    if (key !== this.key) {
      this.key = null;
      $("stage").classList.add("stale");
      showVerdict($("verdict"), null); // never show a verdict next to another model
      $("certificate").replaceChildren();
      const view = await this.work.do((signal) => backend.view(request, signal), this.#announced(state));
      if (view === undefined) return false;
      this.compiled.add(shape(state));
      this.request = request;
      this.#take(view);
      this.key = key;
      this.position = null;
    }
    $("stage").classList.remove("stale");
    const last = this.view.tokens.length - 1,
      position = Math.min(Math.max(state.position ?? Math.max(last - 2, 0), 0), last);
    if (this.position !== position) {
      const story = await this.work.do(
        (signal) => backend.story({ ...request, position }, signal),
        "Reading the proof…",
      );
      if (story === undefined) return false;
      this.position = position;
      this.current = story;
    }
    this.#draw(state);
    if (state.show === "maps" && this.heads !== state.heads) {
      this.heads = state.heads;
      await this.maps.show(this.view, this.#names(), state.heads);
    }
    this.#mark();
    return true;
  }

  // Move by one position or step, for the keyboard; false at the end.
  move(by) {
    const to = this.position + by;
    if (this.key && to >= 0 && to < this.view.tokens.length) this.change({ position: to });
  }

  turn(by) {
    return this.story.turn(by);
  }

  get steps() {
    return this.current?.steps.length ?? 0;
  }

  repaint(state) {
    this.maps.repaint();
    if (this.current) this.#draw(state);
  }

  #announced(state) {
    const name = state.model.replace(/^stored:/, "");
    return this.compiled.has(shape(state)) ? `Running ${name}…` : `Compiling ${name} for this size, once…`;
  }

  #take(view) {
    this.view = view;
    this.heads = null;
    this.tokens.show(view.tokens, view.symbols);
    this.strip.show(view.model);
    $("story-title").textContent =
      view.model.construction === null ? "What the model does at this position" : "The proof at this position";
    showVerdict($("verdict"), view);
    const asked = this.request.model,
      can = backend.verify && asked.kind === "construction";
    showCertificate($("certificate"), view, can ? () => this.#verify(asked, view) : null);
  }

  async #verify(model, view) {
    const request = {
      model,
      alphabet_size: view.model.alphabet_size,
      length: Math.max(view.tokens.length, model.order + 1),
    };
    const found = await this.work.do(
      (signal) => backend.verify(request, signal),
      "Verifying on hard sequences…",
      "long",
    );
    return found && this.view === view ? verified(found) : null;
  }

  #names() {
    return [...(this.view.begins ? ["⊢"] : []), ...this.view.tokens.map((token) => symbol(this.view.symbols[token]))];
  }

  // Draw the open view; the others are drawn when they are opened.
  #draw(state) {
    const story = this.current,
      step = state.show === "proof" || state.show === "figures" ? story.steps[Math.min(Math.max(state.step, 0), story.steps.length - 1)] : null,
      before = story.matches.flatMap((match) => story.window.map((_, back) => match - 1 - back)),
      key = ownKey(story, step) ?? before;
    this.tokens.mark(story.position, { query: story.window, key, match: story.matches }, story.looks.slice(this.view.begins));
    showAnswer(this.view, story, step, state.hide);
    if (step) {
      this.strip.light(step);
      this.story.show(story, state.step);
    }
    if (state.show === "price") showPrice($("prices"), this.prices);
    if (state.show !== "prediction") return;
    const parts = { place: $("predictions"), losses: $("losses") };
    showPrediction(parts, this.view, state.estimator, story.position, (position) => this.change({ position }));
  }

  #mark() {
    const begins = this.view.begins;
    this.maps.mark(
      this.current.position + begins,
      this.current.matches.map((match) => match + begins),
    );
  }
}
