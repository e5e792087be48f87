// Rows of numbers, as the API sends them: base64 of little-endian float32.

export function decoded(text) {
  const raw = atob(text),
    bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
  return new Float32Array(bytes.buffer);
}

export class Matrix {
  constructor({ rows, columns, values }) {
    this.rows = rows;
    this.columns = columns;
    this.values = typeof values === "string" ? decoded(values) : values;
  }
  at(row, column) {
    return this.values[row * this.columns + column];
  }
  row(row) {
    return Array.from(this.values.subarray(row * this.columns, (row + 1) * this.columns));
  }
}
