// A heat map on a canvas, with pointer and keyboard; it can be saved as SVG.
import { sequential, diverging, hex } from "./palette.js";
import { tag, text, sheet } from "./svg.js";
import { element } from "./format.js";

const MARGIN = 26,
  SIDE = 320;

export class HeatMap {
  // Calls on.point(row, column) for the cell under the pointer (null for none), on.choose(row) when one is selected, and
  // on.click(), if given, instead of on.choose for clicks.
  constructor(name, on) {
    this.name = name;
    this.on = on;
    this.cell = null;
    this.row = null;
    this.marks = [];
    this.signed = false;
    this.canvas = element("canvas", { tabindex: "0", role: "img", "aria-label": name });
    this.canvas.addEventListener("pointermove", (event) => this.#pointed(event));
    this.canvas.addEventListener("pointerleave", () => this.on.point(null, null));
    this.canvas.addEventListener("click", (event) => {
      this.#pointed(event);
      if (this.on.click) this.on.click();
      else if (this.cell) this.on.choose(this.cell[0]);
    });
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  // Describe the map before its matrix is loaded.
  expect(rows) {
    this.canvas.setAttribute("aria-label", this.#described(rows));
  }

  #described(rows) {
    const blank = this.signed ? " Rows of windows that were never seen before are blank." : "";
    return `${this.name}: heat map of ${rows} queries and keys. Arrow keys move, Enter goes to a row.${blank}`;
  }

  // matrix: rows × rows; labels: names of rows; first: position of row 0
  show(matrix, labels, first, { signed = false } = {}) {
    this.matrix = matrix;
    this.labels = labels;
    this.first = first;
    this.signed = signed;
    this.canvas.setAttribute("aria-label", this.#described(matrix.rows));
    this.#paint();
    this.draw();
  }

  mark(row, matches) {
    this.row = row;
    this.marks = matches;
    this.draw();
  }
  point(cell) {
    this.cell = cell;
    this.draw();
  }
  repaint() {
    if (this.matrix) {
      this.#paint();
      this.draw();
    }
  }

  #paint() {
    const { rows, values } = this.matrix,
      table = this.signed ? diverging() : sequential();
    this.cells = document.createElement("canvas");
    this.cells.width = this.cells.height = rows;
    const context = this.cells.getContext("2d"),
      image = context.createImageData(rows, rows);
    for (let row = 0; row < rows; row++)
      for (let column = 0; column <= row; column++) {
        const value = values[row * rows + column],
          part = this.signed ? (value + 1) / 2 : value;
        if (Number.isNaN(part)) continue; // blank: nothing is defined there
        const entry = Math.round(Math.min(Math.max(part, 0), 1) * 255) * 3,
          at = (row * rows + column) * 4;
        image.data.set([table[entry], table[entry + 1], table[entry + 2], 255], at);
      }
    context.putImageData(image, 0, 0);
  }

  draw() {
    if (!this.matrix) return;
    const side = this.canvas.clientWidth || SIDE,
      scale = devicePixelRatio || 1;
    this.canvas.width = this.canvas.height = Math.round(side * scale);
    const context = this.canvas.getContext("2d");
    context.scale(scale, scale);
    context.fillStyle = hex("surface");
    context.fillRect(0, 0, side, side);
    const size = side - MARGIN - 2,
      cell = size / this.matrix.rows;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.cells, MARGIN, MARGIN, size, size);
    context.strokeStyle = hex("line");
    context.strokeRect(MARGIN - 0.5, MARGIN - 0.5, size + 1, size + 1);
    context.beginPath();
    context.moveTo(MARGIN, MARGIN);
    context.lineTo(MARGIN + size, MARGIN + size);
    context.stroke();
    context.fillStyle = hex("quiet");
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const [place, label, small] of this.#ticks(cell)) {
      context.font = `${small}px ui-monospace, monospace`;
      context.fillText(label, MARGIN + cell * (place + 0.5), MARGIN - 9);
      context.fillText(label, MARGIN - 10, MARGIN + cell * (place + 0.5));
    }
    if (this.row !== null) {
      context.strokeStyle = hex("text");
      context.lineWidth = 1.5;
      context.strokeRect(MARGIN, MARGIN + cell * this.row, cell * (this.row + 1), Math.max(cell, 2));
      context.strokeStyle = hex("vermillion");
      context.lineWidth = 2;
      const side = Math.max(cell, 2);
      for (const mark of this.marks)
        context.strokeRect(MARGIN + cell * mark, MARGIN + cell * this.row - 1, side, side + 2);
    }
    if (this.cell) {
      const [row, column] = this.cell;
      context.fillStyle = `${hex("orange")}55`;
      context.fillRect(MARGIN, MARGIN + cell * row, cell * (row + 1), Math.max(cell, 1));
      context.fillRect(MARGIN + cell * column, MARGIN + cell * column, Math.max(cell, 1), size - cell * column);
      context.strokeStyle = hex("orange");
      context.lineWidth = 2;
      context.strokeRect(MARGIN + cell * column, MARGIN + cell * row, Math.max(cell, 3), Math.max(cell, 3));
    }
  }

  #ticks(cell) {
    const rows = this.matrix.rows;
    if (cell >= 6) return this.labels.map((label, place) => [place, label, Math.min(11, cell * 1.05)]);
    const every = [8, 16, 32, 64, 128].find((step) => rows / step <= 8) ?? 128,
      found = [];
    for (let place = 0; place < rows; place++)
      if ((place + this.first) % every === 0 && place + this.first >= 0)
        found.push([place, String(place + this.first), 9]);
    return found;
  }

  #pointed(event) {
    if (!this.matrix) return;
    const box = this.canvas.getBoundingClientRect(),
      cell = (box.width - MARGIN - 2) / this.matrix.rows;
    const column = Math.floor((event.clientX - box.left - MARGIN) / cell),
      row = Math.floor((event.clientY - box.top - MARGIN) / cell);
    const inside = row >= 0 && row < this.matrix.rows && column >= 0 && column <= row;
    this.cell = inside ? [row, column] : null;
    this.on.point(...(this.cell ?? [null, null]));
  }

  #key(event) {
    if (!this.matrix) return;
    const last = this.matrix.rows - 1;
    let [row, column] = this.cell ?? [this.row ?? last, 0];
    const moves = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [-10, 0],
      PageDown: [10, 0],
    };
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      event.stopPropagation();
      this.on.choose(row);
      return;
    }
    if (event.key === "Home") column = 0;
    else if (event.key === "End") column = row;
    else if (event.key === "Escape") {
      this.on.point(null, null);
      return;
    } else if (moves[event.key]) {
      row += moves[event.key][0];
      column += moves[event.key][1];
    } else return;
    event.preventDefault();
    event.stopPropagation();
    row = Math.min(Math.max(row, 0), last);
    column = Math.min(Math.max(column, 0), row);
    this.on.point(row, column);
  }

  svg() {
    const size = SIDE - MARGIN - 2,
      cell = size / this.matrix.rows,
      at = (place) => MARGIN + cell * place,
      frame = (x, y, width, height, attributes) => tag("rect", { x, y, width, height, fill: "none", ...attributes });
    const parts = [
      tag("image", {
        x: MARGIN,
        y: MARGIN,
        width: size,
        height: size,
        href: this.cells.toDataURL(),
        preserveAspectRatio: "none",
        style: "image-rendering: pixelated",
      }),
      frame(MARGIN, MARGIN, size, size, { stroke: hex("line") }),
    ];
    for (const [place, label, small] of this.#ticks(cell)) {
      const quiet = { "text-anchor": "middle", "font-size": small, fill: hex("quiet") };
      parts.push(text(at(place + 0.5), MARGIN - 5, label, quiet), text(MARGIN - 10, at(place + 0.5) + 3, label, quiet));
    }
    if (this.row !== null) {
      parts.push(frame(MARGIN, at(this.row), cell * (this.row + 1), cell, { stroke: hex("text") }));
      for (const mark of this.marks)
        parts.push(frame(at(mark), at(this.row), cell, cell, { stroke: hex("vermillion"), "stroke-width": 1.5 }));
    }
    return sheet(SIDE, SIDE, this.name, ...parts);
  }
}
