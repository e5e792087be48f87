// Words and numbers for people, and elements.

const NAMES = { " ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍", "": "∅" };
export const symbol = (name) =>
  NAMES[name] ?? (/^[\p{C}\p{Z}\p{M}]$/u.test(name) ? `U+${name.codePointAt(0).toString(16)}` : name);

// Three digits unless more are needed; very small and very large numbers as powers of ten.
export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(Math.max(digits - 2, 0));
  return String(Number(value.toPrecision(digits)));
}

// An error in words; all errors too small for a chart read the same.
export const deviation = (value) => (value > 0 && value < 1e-18 ? "below 1e-18" : number(value));

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const list = (pairs) =>
  element("dl", {}, ...pairs.flatMap(([term, value]) => [element("dt", {}, term), element("dd", {}, value)]));

// The same without markup, for attributes and file names.
export const plain = (text) => math(text).textContent;

// Formulas such as 2^(i-1) and e_{x_n}, `code` and *emphasis* as elements with real sub- and superscripts.
export function math(text) {
  const out = document.createDocumentFragment();
  for (const [, code, strong, piece] of text.matchAll(/`([^`]*)`|\*(\p{L}[^*]*)\*|([^`*]+|[`*])/gu)) {
    if (code !== undefined || strong !== undefined) {
      out.append(element(code !== undefined ? "code" : "em", {}, code ?? strong));
      continue;
    }
    let rest = piece;
    while (rest) {
      const found = /[\p{L}∇0-9)}‖]([_^])(?=[A-Za-z0-9({⊢-])/u.exec(rest);
      if (!found) {
        out.append(rest);
        break;
      }
      const start = found.index + 1;
      out.append(rest.slice(0, start));
      const [inner, end, bare] = raised(rest, start + 1);
      const keep = bare === "(" && (found[1] === "^" ? !/[0-9]/.test(rest[start - 1]) : false);
      out.append(element(found[1] === "_" ? "sub" : "sup", {}, math(keep ? `(${inner})` : inner)));
      rest = rest.slice(end);
      if (/^[_^][A-Za-z0-9({]/.test(rest)) {
        // an index right after another one, as in p^K_i
        const [more, until, kind] = raised(rest, 1);
        out.append(element(rest[0] === "_" ? "sub" : "sup", {}, math(kind === "(" ? `(${more})` : more)));
        rest = rest.slice(until);
      }
    }
  }
  return out;
}

// The text of an index, {…}, (…), or letters and digits, and its end.
function raised(text, at) {
  const open = text[at],
    close = { "{": "}", "(": ")" }[open];
  if (!close) {
    const run = /^-?[A-Za-z0-9⊢]+/.exec(text.slice(at))?.[0] ?? "";
    return [run, at + run.length, ""];
  }
  let depth = 0;
  for (let end = at; end < text.length; end++) {
    if (text[end] === open) depth++;
    else if (text[end] === close && --depth === 0) return [text.slice(at + 1, end), end + 1, open];
  }
  return ["", at, ""];
}

// Replace the content of a container and keep the focus, on the control of the same name or on the container.
export function replaced(container, ...content) {
  const focused = container.contains(document.activeElement) ? document.activeElement : null,
    name = (control) => control.getAttribute("aria-label") ?? control.textContent;
  container.replaceChildren(...content.filter((part) => part !== null && part !== undefined));
  if (!focused || focused === container) return;
  const controls = [...container.querySelectorAll("button, select, input, canvas, [tabindex]")];
  const same = controls.find((control) => control.tagName === focused.tagName && name(control) === name(focused));
  if (!same && !container.hasAttribute("tabindex")) container.tabIndex = -1;
  (same ?? container).focus({ preventScroll: true });
}
