// A refusal: a one-line message, and the limit if there is one.

export class Problem extends Error {
  constructor(message, limit) {
    super(message);
    this.limit = limit;
  }
}
