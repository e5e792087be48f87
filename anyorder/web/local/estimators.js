// The exact estimators: earlier occurrences of the window of a position, and the counts of the tokens that followed.

// For every n the positions i ≤ n such that the k tokens before i equal the k tokens up to n.
export function matches(tokens, order) {
  return tokens.map((_, n) => {
    const found = [];
    for (let i = order; i <= n; i++)
      if (n >= order - 1 && window(tokens, i - 1, order).every((token, j) => token === tokens[n - order + 1 + j]))
        found.push(i);
    return found;
  });
}

const window = (tokens, last, order) => tokens.slice(last - order + 1, last + 1);

// The k-gram (beta = 0) or add-β, NaN where it is undefined; `biased` also counts aligned partial windows.
export function counted(tokens, order, size, { beta = 0, biased = false } = {}) {
  const matched = matches(tokens, order);
  return tokens.map((_, n) => {
    if (n < order - 1) return Array(size).fill(NaN);
    const found = [...matched[n], ...(biased ? early(tokens, n, order) : [])],
      counts = Array(size).fill(beta);
    for (const i of found) counts[tokens[i]] += 1;
    return counts.map((count) => count / (found.length + beta * size));
  });
}

// Positions i < k whose partial key is parallel to the window at n: both, repeated forever, are the same word.
function early(tokens, n, order) {
  return Array.from({ length: order }, (_, i) => i).filter((i) => {
    const length = Math.max(i, 1),
      word = tokens.slice(0, length);
    return (
      word.every((token, at) => token === word[(at + order) % length]) &&
      window(tokens, n, order).every((token, at) => token === word[at % length])
    );
  });
}

// Uniform attention on the matches, with a sink of weight β S in column 0 for `bayes`. Rows without match and sink are zero.
export function pseudoAttention(matched, begins, sink) {
  const rows = matched.length + begins,
    values = new Float32Array(rows * rows);
  matched.forEach((found, n) => {
    const row = (n + begins) * rows;
    for (const i of found) values[row + i + begins] = 1 / (found.length + sink);
    if (sink && begins) values[row] = sink / (found.length + sink);
  });
  return values;
}

// Mean over positions with a full window of -Σ truth log predicted, as in the package; Infinity where it is infinite.
export function meanLoss(predicted, truth, order) {
  let sum = 0;
  for (let n = order - 1; n < predicted.length; n++)
    truth[n + 1].forEach((chance, symbol) => {
      if (chance > 0) sum -= chance * Math.log(predicted[n][symbol]);
    });
  return sum / (predicted.length - order + 1);
}
