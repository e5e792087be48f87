// The state at one position, in one sentence; anyorder/web/proof.py has the same sentences for the server.

export const sentence = (kind, look) => SENTENCES[kind]?.(look) ?? "";

const names = ({ symbols, tokens }, first, last) => {
  const found = [];
  for (let at = Math.max(first, 0); at <= last; at++) found.push(symbols[tokens[at]]);
  return found.join(" ");
};

const SENTENCES = {
  window(look) {
    const { position: n, order: k } = look;
    if (n === 0) return "There is no token before position 0, so it can only attend to itself.";
    const short = n >= k ? "" : ` Only ${n} of ${k} tokens are there: this key has no full window and must not match.`;
    return `Before position ${n}: ${names(look, n - k, n - 1)}.${short}`;
  },
  recent(look) {
    const { position: n, order: k } = look;
    if (n < k - 1) return `Up to position ${n} there are ${n + 1} of ${k} tokens: no full window yet, so nothing is guaranteed.`;
    return `The last ${k} tokens up to position ${n}: ${names(look, n - k + 1, n)}.`;
  },
  oldest(look) {
    const { position: n, order: k } = look;
    if (n < k) return `Position ${n} has no token at offset ${k}.`;
    return `The token at offset ${k} is x_${n - k} = ${names(look, n - k, n - k)}: the one bar above the line.`;
  },
  matches(look) {
    const { position: n, order: k, matches } = look;
    if (n < k - 1) return `With fewer than ${k} tokens there is nothing to look for.`;
    const context = names(look, n - k + 1, n);
    if (!matches.length)
      return `${context} has not been seen before: nothing matches, and attention goes to the largest score left.`;
    const places = matches.slice(0, 12).join(", ") + (matches.length > 12 ? " and later ones" : "");
    return `${context} stands right before ${matches.length} position${matches.length > 1 ? "s" : ""}: ${places}.`;
  },
  counts(look) {
    if (!look.matches.length) return "No count: 0/0 in the k-gram (Definition 2 leaves it open).";
    const found = look.matches.map((match) => names(look, match, match)),
      counted = [...new Set(found)].map((name) => `${name} ${found.filter((one) => one === name).length}×`);
    return `The tokens there: ${counted.join(", ")}, ${found.length} in all.`;
  },
  smoothed(look) {
    return `${SENTENCES.counts(look)} The sink adds β = ${look.beta} to each of ${look.symbols.length} symbols.`;
  },
};
