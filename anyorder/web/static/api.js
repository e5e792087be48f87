// The typed API: the only way this page learns anything. /api/openapi.json describes it.

export class Problem extends Error {
  constructor(message, limit) {
    super(message);
    this.limit = limit;
  }
}

export async function get(path, signal) {
  return answer(await fetch(path, { signal }));
}

export async function post(path, body, signal) {
  const headers = { "content-type": "application/json" };
  return answer(await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal }));
}

async function answer(response) {
  let body;
  try {
    body = await response.json();
  } catch {
    throw new Problem(`the explorer answered ${response.status}`);
  }
  if (!response.ok) throw new Problem(body.error ?? `the explorer answered ${response.status}`, body.limit);
  return body;
}

// A matrix of the API: base64 of little-endian float32.
export class Matrix {
  constructor({ rows, columns, values }) {
    const bytes = Uint8Array.from(atob(values), (character) => character.charCodeAt(0));
    this.rows = rows;
    this.columns = columns;
    this.values = new Float32Array(bytes.buffer);
  }
  at(row, column) {
    return this.values[row * this.columns + column];
  }
  row(row) {
    return Array.from(this.values.subarray(row * this.columns, (row + 1) * this.columns));
  }
}
