// Exported weights. An array is its shape and its non-zero entries as runs [row, column, down, right, count, value]; a
// value is a number, or [a, b, p] for a + b · kappa^p. A dense array is base64 of little-endian float32.
import { decoded } from "../static/matrix.js";

// Non-zero entries by row: `columns[row]` and `values[row]`, columns in order, rounded to the number type.
export class Sparse {
  constructor({ shape, runs, dense }, kappa, round) {
    [this.rows, this.width] = shape;
    const entries = Array.from({ length: this.rows }, () => new Map());
    const add = (row, column, value) => value !== 0 && entries[row].set(column, round(value));
    if (dense) decoded(dense).forEach((value, at) => add(Math.floor(at / this.width), at % this.width, value));
    else
      for (const [row, column, down, right, count, value] of runs)
        for (let step = 0; step < count; step++) add(row + down * step, column + right * step, number(value, kappa));
    const sorted = entries.map((row) => [...row].sort(([left], [right]) => left - right));
    this.columns = sorted.map((row) => row.map(([column]) => column));
    this.values = sorted.map((row) => row.map(([, value]) => value));
  }

  // W x, one sum for each row of W, in the order of columns.
  times(x, round) {
    const result = new Float64Array(this.rows);
    for (let row = 0; row < this.rows; row++) {
      const columns = this.columns[row],
        values = this.values[row];
      let sum = 0;
      for (let entry = 0; entry < columns.length; entry++) sum = round(sum + values[entry] * x[columns[entry]]);
      result[row] = sum;
    }
    return result;
  }

  // Row `row` as a vector.
  vector(row = 0) {
    const result = new Float64Array(this.width);
    this.columns[row].forEach((column, entry) => (result[column] = this.values[row][entry]));
    return result;
  }
}

export const number = (value, kappa) =>
  Array.isArray(value) ? value[0] + value[1] * (value[2] === 1 ? kappa : Math.sqrt(kappa)) : value;

// A model from its description, with sparse arrays.
export function unpacked(described, kappa, round) {
  if (Array.isArray(described)) return described.map((part) => unpacked(part, kappa, round));
  if (described === null || typeof described !== "object") return described;
  if (described.shape) return new Sparse(described, kappa, round);
  if ("kappa" in described) return round(number(described.kappa, kappa));
  return Object.fromEntries(Object.entries(described).map(([name, part]) => [name, unpacked(part, kappa, round)]));
}
