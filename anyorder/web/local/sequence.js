// Sequences of the exported page: the typed text, or a chain drawn with a small random generator.
import { Problem } from "../static/problem.js";

export function drawn(asked, limits) {
  return asked.kind === "text" ? typed(asked.text, limits) : sampled(asked, limits);
}

function typed(text, limits) {
  const letters = [...text],
    symbols = [...new Set(letters)];
  if (!letters.length) throw new Problem("the text is empty; type at least two characters");
  atMost(letters.length, limits.tokens, "tokens");
  atMost(symbols.length, limits.symbols, "different characters");
  return { tokens: letters.map((letter) => symbols.indexOf(letter)), symbols, outcome: null, truth: null };
}

// Kernel rows are Dirichlet(1): exponentials divided by their sum. `truth[t]` is the distribution of token t.
function sampled({ order, alphabet_size: size, length, seed }, limits) {
  atMost(length, limits.tokens, "tokens");
  atMost(size, limits.symbols, "symbols");
  atMost(order, limits.order, "as the order");
  if (length <= order)
    throw new Problem(`length is ${length}, must be above the order ${order}; lengthen the sequence`);
  const random = generator(seed),
    kernel = Array.from({ length: size ** order }, () => dirichlet(size, random));
  const tokens = [],
    truth = [];
  for (let at = 0; at <= length; at++) {
    const context = tokens.slice(-order).reduce((number, token) => number * size + token, 0);
    const row = at < order ? Array(size).fill(1 / size) : kernel[context];
    truth.push(row);
    let left = random();
    tokens.push(
      Math.max(
        row.findIndex((chance) => (left -= chance) < 0),
        0,
      ),
    );
  }
  const outcome = tokens.pop();
  return { tokens, symbols: Array.from({ length: size }, (_, symbol) => String(symbol)), outcome, truth };
}

function dirichlet(size, random) {
  const parts = Array.from({ length: size }, () => -Math.log(1 - random())),
    total = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => part / total);
}

// Mulberry32: the same numbers for one seed in every browser.
function generator(seed) {
  let state = (seed + 0x9e3779b9) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function atMost(value, limit, name) {
  if (value > limit) throw new Problem(`${value} ${name}; this page takes at most ${limit}, the server takes more`);
}
