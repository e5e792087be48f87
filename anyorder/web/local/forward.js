// The transformer of Definition 3 on one sequence, in float32 or float64: anyorder/models in one small file. Every stored
// number is rounded as in the model; products of float32 are exact in float64, so their sums are rounded as by a fused
// multiply-add.

export const ROUND = { float32: Math.fround, float64: (value) => value };
const EPSILON = 1e-5;

export function run(model, tokens, round) {
  const width = model.embedding.width,
    sum = (left, right) => left.map((value, at) => round(value + right[at]));
  let x = tokens.map((token) => model.embedding.vector(token));
  if (model.positions) x = x.map((row, at) => sum(row, model.positions.vector(at)));
  if (model.beginning) x = [model.beginning.vector(), ...x];
  const points = { embedding: x },
    attention = [];
  model.layers.forEach((layer, place) => {
    let read = layer.attention_norm ? x.map((row) => norm(layer.attention_norm, row, round)) : x;
    if (layer.convolution) read = points[`convolution ${place + 1}`] = convolve(layer.convolution, read, round);
    const heads = layer.heads.map((head) => (head.bias ? gather : attend)(head, read, round));
    for (const { written } of heads) x = x.map((row, at) => sum(row, written[at]));
    attention.push(heads.map(({ weights }) => weights));
    points[`attention ${place + 1}`] = x;
    const stack = stacked(layer, x, round);
    stack.forEach((point, index) => {
      if (index && point[0].length === width) points[`mlp ${place + 1}.${index}`] = point;
    });
    x = stack[stack.length - 1];
  });
  if (model.final_norm) x = x.map((row) => norm(model.final_norm, row, round));
  if (model.beginning) x = x.slice(1);
  const logits = x.map((row) => linear(model.output ?? model.embedding, row, model.output_bias, round));
  return { probabilities: logits.map((row) => output(model.output_map, row, round)), attention, points };
}

// Every point of the MLP on some rows: the rows themselves, then the output of each layer.
export function stacked(layer, x, round) {
  const stack = [x];
  layer.mlp.forEach((one, index) => {
    const from = index || !layer.mlp_norm ? stack[index] : x.map((row) => norm(layer.mlp_norm, row, round));
    stack.push(from.map((row, at) => mlp(one, row, stack, at, round)));
  });
  return stack;
}

// A causal convolution of each coordinate over the current and earlier rows.
function convolve(taps, x, round) {
  return x.map((_, n) => {
    const mixed = new Float64Array(taps.width);
    for (let offset = 0; offset < taps.rows && offset <= n; offset++)
      taps.columns[offset].forEach((column, entry) => {
        const value = round(taps.values[offset][entry] * x[n - offset][column]);
        mixed[column] = round(mixed[column] + value);
      });
    return mixed;
  });
}

export function linear(weight, row, bias, round) {
  const product = weight.times(row, round);
  if (!bias) return product;
  const added = bias.vector();
  return product.map((value, at) => round(value + added[at]));
}

// Queries and keys of a head, without positions.
export function sides(head, x, round) {
  if (head.bias) {
    const features = (weight) =>
      x.map((row) => linear(weight, row, head.bias, round).map((value) => Math.max(value, 0)));
    return { queries: features(head.query), keys: features(head.key) };
  }
  let queries = x.map((row) => head.query.times(row, round)),
    keys = x.map((row) => head.key.times(row, round));
  if (head.normalise) [queries, keys] = [queries, keys].map((rows) => rows.map((row) => unit(row, round)));
  return { queries: queries.map((row) => row.map((value) => round(value * head.scale))), keys };
}

export const dot = (left, right, round) => left.reduce((sum, value, at) => round(sum + value * right[at]), 0);

function attend(head, x, round) {
  const { queries, keys } = sides(head, x, round),
    values = x.map((row) => head.value.times(row, round)),
    written = [],
    weights = [];
  for (let n = 0; n < x.length; n++) {
    const offsets = head.key_positions?.times(queries[n], round),
      scores = [];
    for (let i = 0; i <= n; i++) {
      const score = dot(queries[n], keys[i], round);
      scores.push(offsets ? round(score + (offsets[n - i] ?? 0)) : score);
    }
    const largest = scores.reduce((most, score) => Math.max(most, score), -Infinity);
    const parts = scores.map((score) => round(Math.exp(round(score - largest))));
    const total = parts.reduce((sum, part) => round(sum + part), 0);
    const mixed = new Float64Array(head.value.rows);
    for (let i = 0; i <= n; i++)
      if (parts[i]) for (let at = 0; at < mixed.length; at++) mixed[at] = round(mixed[at] + parts[i] * values[i][at]);
    if (head.value_positions) {
      const added = new Float64Array(mixed.length);
      for (let offset = Math.min(n, head.value_positions.rows - 1); offset >= 0; offset--) {
        const { columns, values: table } = head.value_positions;
        columns[offset].forEach((column, entry) => {
          added[column] = round(added[column] + parts[n - offset] * table[offset][entry]);
        });
      }
      added.forEach((value, at) => (mixed[at] = round(mixed[at] + value)));
    }
    const output = mixed.map((value) => round(value / total));
    written.push(head.projection ? head.projection.times(output, round) : output);
    weights.push(parts.map((part) => round(part / total)));
  }
  return { written, weights };
}

// A head with a table of counts: the entries under the features of a row, divided by their sum.
function gather(head, x, round) {
  const { queries, keys } = sides(head, x, round),
    table = Array.from({ length: head.key.rows }, (_, feature) =>
      head.initial ? head.initial.vector(feature) : new Float64Array(head.value.rows),
    ),
    written = [],
    weights = [];
  for (let n = 0; n < x.length; n++) {
    const value = head.value.times(x[n], round),
      read = new Float64Array(value.length);
    keys[n].forEach((key, feature) => {
      if (key) value.forEach((one, at) => (table[feature][at] = round(table[feature][at] + key * one)));
    });
    queries[n].forEach((query, feature) => {
      if (query) table[feature].forEach((one, at) => (read[at] = round(read[at] + query * one)));
    });
    const total = read.reduce((sum, one) => round(sum + one), 0),
      divisor = total > 0 ? total : 1;
    const quotient = read.map((one) => round(one / divisor));
    written.push(head.projection.times(quotient, round));
    weights.push(keys.slice(0, n + 1).map((key) => round(dot(queries[n], key, round) / divisor)));
  }
  return { written, weights };
}

function mlp(layer, row, stack, at, round) {
  let x = linear(layer.weight, row, layer.bias, round);
  if (layer.activation === "relu") x = x.map((value) => Math.max(value, 0));
  if (layer.activation === "gelu") x = x.map((value) => round(gelu(value)));
  if (layer.norm) x = norm(layer.norm, x, round);
  return layer.skip === null ? x : x.map((value, place) => round(stack[layer.skip][at][place] + value));
}

const gelu = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

export function unit(row, round) {
  const squared = row.reduce((sum, value) => round(sum + round(value * value)), 0),
    length = round(Math.sqrt(squared > 0 ? squared : 1));
  return row.map((value) => round(value / length));
}

function norm({ gain, bias }, row, round) {
  if (!gain) return unit(row, round);
  const mean = round(row.reduce((sum, value) => round(sum + value), 0) / row.length),
    centred = row.map((value) => round(value - mean)),
    variance = round(centred.reduce((sum, value) => round(sum + round(value * value)), 0) / row.length),
    deviation = round(Math.sqrt(round(variance + EPSILON))),
    [scale, shift] = [gain.vector(), bias.vector()];
  return centred.map((value, at) => round(round(round(value / deviation) * scale[at]) + shift[at]));
}

function output(map, logits, round) {
  if (map === "relu") return logits.map((value) => Math.max(value, 0));
  if (map !== "softmax") return logits;
  const largest = logits.reduce((most, value) => Math.max(most, value), -Infinity),
    shifted = logits.map((value) => round(value - largest)),
    total = shifted.reduce((sum, value) => round(sum + round(Math.exp(value))), 0);
  return shifted.map((value) => round(Math.exp(round(value - round(Math.log(total))))));
}
