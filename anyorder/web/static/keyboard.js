// Keys that work everywhere, except in text fields and in controls that use the same key.
const OWN = "input, select, textarea, [contenteditable], dialog[open] *";

// Keys call act.position(by), act.step(by), act.slide(by), act.leave() and act.presenting().
export function listen(act) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape" && act.presenting() && !document.querySelector("dialog[open]")) {
      act.leave();
      return;
    }
    if (event.target.closest?.(OWN)) return;
    if (act.presenting()) {
      const by = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 }[
        event.key
      ];
      if (by === undefined || (event.key === " " && event.target.closest?.("button, summary"))) return;
      event.preventDefault();
      act.slide(by);
      return;
    }
    const positions = { ArrowLeft: -1, ArrowRight: 1 }[event.key],
      steps = { ArrowUp: -1, ArrowDown: 1, p: -1, n: 1 }[event.key];
    if (positions === undefined && steps === undefined) return;
    event.preventDefault();
    if (positions !== undefined) act.position(positions);
    else act.step(steps);
  });
}
