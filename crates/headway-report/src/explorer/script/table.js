// The runs of an experiment: the bytes of runs.parquet, read column by column as they are wanted.

"use strict";
const KNOWN = JSON.parse(document.getElementById("known").textContent);
const COLUMNS = new Map(KNOWN.columns.map((column) => [column.name, column]));
const waiting = new Map();

// Called by the scripts in `data`.
function receive(number, experiment, parquet) {
  waiting.get(number)?.(new Table(experiment, parquet));
}

const tables = new Map();

// The experiment with this number; its script is loaded once.
function load(number) {
  if (!tables.has(number)) {
    tables.set(number, new Promise((done, failed) => {
      waiting.set(number, done);
      const script = document.createElement("script");
      script.src = `data/${number}.js`;
      script.onerror = () => failed(new Error(`${script.src} is missing: write the folder again`));
      document.head.append(script);
    }));
  }
  return tables.get(number);
}

function bytes(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64).buffer;
  const text = atob(base64), list = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) list[i] = text.charCodeAt(i);
  return list.buffer;
}

class Table {
  constructor(experiment, parquet) {
    Object.assign(this, experiment);
    this.file = bytes(parquet);
    this.known = new Map();
    // The cell of each row: rows are in the order of the cells.
    this.length = this.cells.reduce((sum, cell) => sum + cell.runs, 0);
    this.cellOf = new Uint32Array(this.length);
    let row = 0;
    this.cells.forEach((cell, place) => { this.cellOf.fill(place, row, row += cell.runs); });
  }

  // The column of this name; `axis:NAME` is an axis with its values as the experiment's file has them.
  column(name) {
    if (!this.known.has(name)) this.known.set(name, name.startsWith("axis:") ? this.axis(name) : this.read(name));
    return this.known.get(name);
  }

  async axis(name) {
    const place = this.axes.findIndex((axis) => `axis:${axis.name}` === name);
    const { values } = this.axes[place];
    const code = new Map(values.map((value, place) => [value, place]));
    const ofCell = Uint32Array.from(this.cells, (cell) => code.get(cell.values[place]));
    return new Column({ name, label: this.axes[place].name, unit: "", kind: "text" }, null, values, this.cellOf.map((cell) => ofCell[cell]));
  }

  async read(name) {
    const { parquetRead, parquetMetadata } = await import("hyparquet");
    this.metadata ??= parquetMetadata(this.file);
    const cells = new Array(this.length).fill(null);
    await parquetRead({
      file: this.file, metadata: this.metadata, columns: [name],
      onChunk: ({ columnData, rowStart }) => { for (let i = 0; i < columnData.length; i++) cells[rowStart + i] = columnData[i]; },
    });
    const about = COLUMNS.get(name);
    if (about.kind === "text") return Column.ofTexts(about, cells);
    // Seeds have 64 bits, which are not signed: they are kept as they are.
    const exact = name === "seed" ? cells.map((value) => BigInt.asUintN(64, BigInt(value)).toString()) : null;
    return new Column(about, Float64Array.from(cells, (value) => (value === null || value === undefined ? NaN : Number(value))), null, null, exact);
  }
}

// A column: numbers, or the places of each row's text in a list. Each can be had of the other.
class Column {
  constructor(about, numbers, texts, codes, exact) {
    Object.assign(this, { about, exact, isNumeric: numbers !== null, numberOf: numbers, textOf: texts, codeOf: codes });
  }

  static ofTexts(about, cells) {
    const texts = [], known = new Map();
    const codes = Uint32Array.from(cells, (cell) => {
      const text = cell ?? "";
      if (!known.has(text)) known.set(text, texts.push(text) - 1);
      return known.get(text);
    });
    return new Column(about, null, texts, codes);
  }

  // As places in a list of distinct values, ordered where they are numbers.
  get codes() {
    if (!this.codeOf) {
      const distinct = [...new Set(this.numberOf)].sort((one, other) => one - other);
      const place = new Map(distinct.map((number, place) => [number, place]));
      this.codeOf = Uint32Array.from(this.numberOf, (number) => place.get(number));
      this.values = distinct;
      this.textOf = distinct.map((number) => (Number.isNaN(number) ? "none" : this.about.kind === "flag" ? String(number === 1) : String(number)));
    }
    return this.codeOf;
  }

  get texts() {
    return this.codes && this.textOf;
  }

  // As an axis shows it: numbers, or texts.
  at(row) {
    return this.isNumeric ? this.numberOf[row] : this.textOf[this.codeOf[row]];
  }
}

// A number as people read it, with its unit.
function shown(value, unit) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  const round = (number) => String(Number(number.toPrecision(4)));
  if (unit === "bit/s" || unit === "B") {
    const [scale, prefix] = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([scale]) => Math.abs(value) >= scale) ?? [1, ""];
    return `${round(value / scale)} ${prefix}${unit}`;
  }
  if (unit === "s" && value !== 0 && Math.abs(value) < 1) return `${round(value * 1e3)} ms`;
  return unit ? `${round(value)} ${unit}` : round(value);
}
