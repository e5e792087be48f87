// At most one computation of each kind per page: a newer one, or the Cancel button, closes the older request, and the server
// stops computing it. After a short wait a moving bar shows what is being computed.
const $ = (id) => document.getElementById(id);

export class Work {
  // report(message) shows a problem, or clears it with null.
  constructor(report) {
    this.report = report;
    this.running = new Map();
    $("cancel").addEventListener("click", () => this.cancel());
  }

  // Resolves to the result of the task, or undefined if it was refused, cancelled or superseded.
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
      this.report(null);
      return result;
    } catch (error) {
      if (controller.signal.aborted) {
        if (controller.cancelled) this.report("Cancelled; change something to start again.");
        return undefined;
      }
      this.report(error instanceof TypeError ? "The explorer does not answer; is it still running?" : error.message);
      return undefined;
    } finally {
      clearTimeout(shown);
      if (this.running.get(kind) === controller) this.running.delete(kind);
      if (!this.running.size) $("busy").hidden = true;
    }
  }

  cancel() {
    for (const controller of this.running.values()) {
      controller.cancelled = true;
      controller.abort();
    }
  }
}
