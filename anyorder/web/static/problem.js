// A refusal: one line for a person, and the limit where there is one.

export class Problem extends Error {
  constructor(message, limit) {
    super(message);
    this.limit = limit;
  }
}
