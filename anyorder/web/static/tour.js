// A guided tour, of the package or a teacher's own: stops with a state, a sentence and optionally a question.
import { math, replaced, element } from "./format.js";
import { fromWords } from "./state.js";

const $ = (id) => document.getElementById(id);

export class Tour {
  // go(state) shows a state.
  constructor(tours, go) {
    this.tours = tours;
    this.go = go;
    $("tours").append(...tours.map((tour) => element("option", { value: tour.name }, tour.title)));
    $("tours").addEventListener("change", () => this.open($("tours").value, 0));
    $("take-tour").addEventListener("click", () => this.open(tours[0].name, 0));
    $("reveal").addEventListener("click", () => this.reveal());
    $("previous-stop").addEventListener("click", () => this.turn(-1));
    $("next-stop").addEventListener("click", () => this.turn(1));
    $("end-tour").addEventListener("click", () => {
      this.end();
      $("take-tour").focus();
    });
  }

  // The state of a stop; settings of the page itself, such as presenting, stay as they are.
  state(name, stop, present = false) {
    const tour = this.tours.find((one) => one.name === name);
    if (!tour) return null;
    const at = Math.min(Math.max(stop, 0), tour.stops.length - 1);
    return { ...fromWords(Object.entries(tour.stops[at].state)), tour: name, stop: at, present };
  }

  open(name, stop) {
    const state = this.state(name, stop, this.present);
    if (state) this.go(state);
  }

  end() {
    this.go({ ...this.current, tour: "", stop: 0, hide: "" });
  }

  // Show the hidden parts of the stop; false if there are none.
  reveal() {
    const hidden = Boolean(this.current?.hide);
    if (hidden) this.go({ ...this.current, hide: "" });
    return hidden;
  }

  // Move by one stop; false at the end.
  turn(by) {
    const tour = this.tours.find((one) => one.name === this.current?.tour),
      to = this.current?.stop + by,
      there = tour && to >= 0 && to < tour.stops.length;
    if (there) this.open(tour.name, to);
    return Boolean(there);
  }

  show(state) {
    const tour = this.tours.find((one) => one.name === state.tour);
    this.current = state;
    this.present = state.present;
    $("tours").value = tour?.name ?? "";
    $("tour").hidden = !tour;
    $("take-tour").hidden = Boolean(tour);
    if (!tour) return;
    const stop = tour.stops[Math.min(state.stop, tour.stops.length - 1)];
    $("tour-title").textContent = tour.title;
    $("tour-count").textContent = `${state.stop + 1} of ${tour.stops.length}`;
    replaced($("tour-text"), math(stop.sentence));
    replaced($("tour-question"), math(stop.question ?? ""));
    $("tour-question").hidden = !stop.question;
    $("reveal").hidden = !state.hide;
    $("next-stop").classList.toggle("primary", !state.hide);
    $("previous-stop").setAttribute("aria-disabled", String(state.stop === 0));
    $("next-stop").setAttribute("aria-disabled", String(state.stop === tour.stops.length - 1));
  }
}
