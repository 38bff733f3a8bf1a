// The rows that pass the filters, and what is drawn of them: a point for each group of runs, or for each run.

const columnOrNone = (table, name) => (name === "none" ? null : table.column(name));

// The rows that pass.
async function passing(table) {
  const sets = [], ranges = [];
  for (const [name, values] of state.filters) {
    if (!table.axes.some((axis) => axis.name === name)) continue;
    const column = await table.column(`axis:${name}`);
    sets.push({ column, passes: Uint8Array.from(column.texts, (text) => Number(values.has(text))) });
  }
  for (const [name, [low, high]] of state.ranges) {
    if (!COLUMNS.has(name) || COLUMNS.get(name).kind === "text") continue;
    ranges.push({ numbers: (await table.column(name)).numberOf, low: low ?? -Infinity, high: high ?? Infinity });
  }
  const rows = new Uint32Array(table.length);
  let count = 0;
  for (let row = 0; row < table.length; row++) {
    if (sets.every(({ column, passes }) => passes[column.codeOf[row]])
      && ranges.every(({ numbers, low, high }) => numbers[row] >= low && numbers[row] <= high)) rows[count++] = row;
  }
  return rows.subarray(0, count);
}

// The quantile as the results of headway have it: between neighbours on a line.
function quantile(sorted, share) {
  const place = (sorted.length - 1) * share, low = Math.floor(place), high = Math.ceil(place);
  return sorted[low] + (place - low) * (sorted[high] - sorted[low]);
}

// What is drawn: points with their place, series and facet, and the rows that each is of.
async function pointsOf(table, view) {
  const [x, y, c, fx, fy, finished] = await Promise.all([
    table.column(view.x), table.column(view.y), columnOrNone(table, view.c), columnOrNone(table, view.fx),
    columnOrNone(table, view.fy), table.column("finished"),
  ]);
  const rows = await passing(table);
  const columns = { x, y, c, fx, fy };
  const value = y.isNumeric ? y.numberOf : null;
  const isDrawn = (row) => !Number.isNaN(value[row]) && !(x.isNumeric && Number.isNaN(x.numberOf[row]))
    && !(view.ly && value[row] <= 0) && !(view.lx && x.isNumeric && x.numberOf[row] <= 0);
  const text = (column, row) => (column ? column.texts[column.codes[row]] : "");
  const about = (row) => ({ x: x.at(row), s: text(c, row), fx: text(fx, row), fy: text(fy, row) });
  if (!value) return { columns, points: [], left: rows.length, rows };
  if (view.a === "runs") {
    const drawn = rows.filter(isDrawn);
    const points = Array.from(drawn, (row) => ({ ...about(row), y: value[row], row, unfinished: finished.numberOf[row] === 1 ? 0 : 1 }));
    return { columns, points, left: rows.length - drawn.length, rows };
  }
  const codes = [x, c, fx, fy].map((column) => column?.codes);
  const sizes = [x, c, fx, fy].map((column) => column?.texts.length ?? 1);
  const groups = new Map();
  let left = 0;
  for (const row of rows) {
    if (!isDrawn(row)) { left++; continue; }
    let key = 0;
    for (let i = 0; i < 4; i++) key = key * sizes[i] + (codes[i] ? codes[i][row] : 0);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  const points = [];
  for (const [key, members] of [...groups].sort(([one], [other]) => one - other)) {
    const sorted = Float64Array.from(members, (row) => value[row]).sort();
    const middle = view.a === "mean" ? sorted.reduce((sum, one) => sum + one, 0) / sorted.length : quantile(sorted, 0.5);
    const unfinished = members.reduce((count, row) => count + (finished.numberOf[row] === 1 ? 0 : 1), 0);
    points.push({ ...about(members[0]), y: middle, low: quantile(sorted, 0.1), high: quantile(sorted, 0.9), rows: members, unfinished, key });
  }
  return { columns, points, left, rows };
}

// What a point is known by in the address.
const nameOf = (point) => (point.rows ? [point.x, point.s, point.fx, point.fy].map((part) => encodeURIComponent(part)).join("~") : `row~${point.row}`);

// The series in their order, each with its colour and shape.
function seriesOf({ points, columns }) {
  const order = columns.c ? columns.c.texts : [""];
  const there = new Set(points.map((point) => point.s));
  const names = order.filter((name) => there.has(name));
  const taken = new Set(names.map((name) => KNOWN.looks[name]).filter((look) => look !== undefined));
  let next = 0;
  const look = (name) => {
    if (columns.c?.about.name === "axis:variant" && name in KNOWN.looks) return KNOWN.looks[name];
    while (taken.size < INKS && taken.has(next % INKS)) next++;
    taken.add(next % INKS);
    return next++;
  };
  return names.map((name) => {
    const place = look(name);
    return { name, colour: `var(--series-${place % INKS})`, shape: SHAPES[place % SHAPES.length] };
  });
}
const INKS = 9;
const SHAPES = ["circle", "square", "triangle", "diamond", "star", "cross", "wye"];
