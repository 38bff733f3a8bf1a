// The picture: Observable Plot, with marks that can be found again by the pointer and by keys.

// More points than these are drawn as pixels: as elements they would take seconds.
const MOST_ELEMENTS = 3000;
// Series stand this far from each other over a name on the axis, where there is room.
const GAP = 22;
let drawn = { hits: [], points: [], chosen: -1 };

const pictureBox = document.getElementById("picture");

function draw(view, data) {
  const { columns, points } = data;
  const series = seriesOf(data);
  const placeOf = new Map(series.map((one, place) => [one.name, place]));
  const width = Math.max(280, pictureBox.clientWidth);
  const hits = [];
  const options = { width, ...scales(view, data, width), marks: [] };
  const facets = { fx: columns.fx ? (i) => points[i].fx : undefined, fy: columns.fy ? (i) => points[i].fy : undefined };
  const bySeries = series.map(() => []);
  points.forEach((point, i) => bySeries[placeOf.get(point.s)].push(i));
  const { isNumeric } = columns.x, texts = options.x.domain ?? [];
  const room = options.panel / Math.max(1, texts.length) * 0.8 / Math.max(1, series.length);
  const hasLine = isNumeric || texts.every((text) => /^[\d.]/.test(text));
  if (!hasLine) options.marks.push(bands(texts));
  series.forEach((one, place) => {
    // Where the axis has an order, what stands beside a value would be read as another one.
    const dx = hasLine ? 0 : (place - (series.length - 1) / 2) * Math.min(GAP, room);
    const list = bySeries[place];
    options.marks.push(...marks(view, points, list, { one, dx, facets, hits, hasLine }));
  });
  const svg = Plot.plot(options);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${columns.y.about.label} over ${columns.x.about.label}: ${points.length} points; the table beneath has their values`);
  pictureBox.replaceChildren(svg);
  legend(series, columns, data);
  drawn = { hits, points, chosen: -1, svg, view, data };
}

// Every second name of the axis has a ground of its own: what stands on it is of that name.
function bands(texts) {
  return (_index, { x }, _values, { marginTop, marginBottom, height }) => {
    const group = document.createElementNS("http://www.w3.org/2000/svg", "g");
    const step = texts.length > 1 ? x(texts[1]) - x(texts[0]) : 0;
    texts.forEach((text, place) => {
      if (place % 2 === 0 || step === 0) return;
      const band = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      const box = { x: x(text) - step / 2, y: marginTop, width: step, height: height - marginTop - marginBottom };
      for (const [key, value] of Object.entries({ ...box, fill: "var(--line)", "fill-opacity": 0.4 })) band.setAttribute(key, value);
      group.append(band);
    });
    return group;
  };
}

function marks(view, points, list, { one, dx, facets, hits, hasLine }) {
  const common = { ...facets, x: (i) => points[i].x, y: (i) => points[i].y, dx };
  const recorded = (index, scales, values, dimensions, context, next) => {
    const node = next(index, scales, values, dimensions, context);
    hits.push({ node, index, x: values.x, y: values.y, list });
    return node;
  };
  if (view.a === "runs" && drawnAsPixels(points)) {
    return [Plot.dot(list, { ...common, fill: one.colour, render: (...words) => recorded(...words.slice(0, 5), pixels(one.colour, dx)) })];
  }
  const dot = Plot.dot(list, {
    ...common, symbol: one.shape, fill: one.colour, r: view.a === "runs" ? 3 : 4.5,
    fillOpacity: view.a === "runs" ? 0.7 : 1, render: recorded,
  });
  const rings = list.filter((i) => points[i].unfinished > 0);
  const ring = rings.length && view.a !== "runs" ? [Plot.dot(rings, { ...common, r: 8, stroke: "var(--text)", strokeWidth: 1.2 })] : [];
  if (view.a === "runs") return [dot];
  const rule = Plot.ruleX(list, { ...common, y: undefined, y1: (i) => points[i].low, y2: (i) => points[i].high, stroke: one.colour, strokeWidth: 1.5, strokeOpacity: 0.75 });
  const line = !hasLine ? [] : [Plot.line(list, { ...common, stroke: one.colour, strokeWidth: 1.5, z: null })];
  return [rule, ...line, dot, ...ring];
}

const drawnAsPixels = (points) => points.length > MOST_ELEMENTS;

// Points as an image, in place of an element for each.
const pixels = (colour, dx) => (index, scales, values, { width, height }) => {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  const canvas = document.createElement("canvas");
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const c = canvas.getContext("2d");
  c.fillStyle = getComputedStyle(document.documentElement).getPropertyValue(/--[\w-]+/.exec(colour)[0]).trim();
  c.globalAlpha = 0.45;
  c.scale(ratio, ratio);
  for (const i of index) c.fillRect(values.x[i] - 1.25, values.y[i] - 1.25, 2.5, 2.5);
  const element = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const group = element("g", { fill: colour, transform: `translate(${dx},0)` });
  group.append(element("image", { width, height, href: canvas.toDataURL() }));
  return group;
};

// The axes and facets, with room for their labels.
function scales(view, { columns, points }, width) {
  const { x, y, fx, fy } = columns;
  const order = (column, key) => {
    const there = new Set(points.map((point) => point[key]));
    return column.texts.filter((text) => there.has(text));
  };
  const panels = fx ? order(fx, "fx") : [""], rows = fy ? order(fy, "fy") : [""];
  const marginLeft = 64, marginRight = fy ? 110 : 20;
  const panel = (width - marginLeft - marginRight) / panels.length;
  // What a panel is of, in lines that are as long as there is room.
  const head = (column, most) => (text) => wrapped(`${column.about.label} ${text}`, most);
  const headOfColumn = fx && head(fx, Math.max(6, Math.floor(panel / 8)));
  const headLines = fx ? Math.max(...panels.map((text) => headOfColumn(text).split("\n").length)) : 0;
  const title = (column) => column.about.label + (column.about.unit ? ` (${column.about.unit})` : "");
  const numeric = (column, log, room) => ({
    type: log ? "log" : "linear", label: null, grid: true, nice: !log, tickSpacing: room,
    tickFormat: tickFormat(points, column === y ? "y" : "x", log), ticks: undefined,
  });
  const texts = x.isNumeric ? [] : order(x, "x");
  const longest = Math.max(0, ...texts.map((text) => text.length)) * 7.2;
  const isCrowded = !x.isNumeric && longest + 8 > panel / Math.max(1, texts.length);
  // Labels that do not fit side by side stand upright; of more than fit even so, some.
  const step = Math.ceil(texts.length / Math.max(1, Math.floor(panel / 17)));
  const marginBottom = isCrowded ? Math.min(230, longest + 14) : 30;
  const height = Math.max(140, (width < 560 ? 300 : 400) / Math.sqrt(rows.length)) * rows.length + marginBottom + 20 * headLines;
  const shorten = (text, most) => (text.length > most ? text.slice(0, Math.max(1, most - 1)) + "…" : text);
  const titles = document.getElementById("picture-title");
  titles.textContent = `${title(y)} over ${title(x)}`;
  return {
    panel, height, marginLeft, marginRight, marginBottom, marginTop: 14 + 20 * headLines,
    style: { fontSize: "13px", background: "transparent", overflow: "visible" },
    x: x.isNumeric ? numeric(x, view.lx, 70) : {
      type: "point", domain: texts, label: null, tickRotate: isCrowded ? -90 : 0,
      ticks: texts.filter((_, place) => place % step === 0), tickFormat: (text) => shorten(text, 30),
    },
    y: { ...numeric(y, view.ly, 40), zero: !view.ly && points.every((point) => point.y >= 0) },
    fx: fx ? { domain: panels, label: null, tickFormat: headOfColumn } : undefined,
    fy: fy ? { domain: rows, label: null, tickFormat: head(fy, 13) } : undefined,
  };
}

// In lines of at most `most` letters: between words, or within those that are longer.
function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const joined = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (joined.length <= most) { lines[lines.length - 1] = joined; continue; }
    const parts = word.match(new RegExp(`.{1,${most}}`, "gu")) ?? [];
    lines.push(...parts);
  }
  return lines.filter(Boolean).join("\n");
}

// Few letters for large and for small numbers.
function tickFormat(points, key, log) {
  const most = points.reduce((most, point) => Math.max(most, Math.abs(Number(point[key]) || 0)), 0);
  if (log || most >= 1e4) {
    const short = d3.format("~s"), plain = d3.format("~g");
    return (value) => {
      const isFirst = !log || /^[125]/.test(value.toExponential());
      return isFirst ? (Math.abs(value) >= 1e4 ? short(value) : plain(Number(value.toPrecision(3)))) : "";
    };
  }
  return undefined;
}

function legend(series, columns, data) {
  const list = document.getElementById("legend");
  const entry = (text, path) => {
    const item = document.createElement("li"), swatch = document.createElement("span");
    swatch.className = "plot swatch";
    swatch.setAttribute("aria-hidden", "true");
    swatch.innerHTML = `<svg viewBox="-11 -8 22 16">${path}</svg>`;
    item.append(swatch, text);
    return item;
  };
  const d3Shape = (shape) => d3.symbol(d3[{ circle: "symbolCircle", square: "symbolSquare", triangle: "symbolTriangle", diamond: "symbolDiamond", star: "symbolStar", cross: "symbolCross", wye: "symbolWye" }[shape]], 80)();
  const isPlain = !columns.c;
  const items = isPlain ? [] : series.map(({ name, colour, shape }) => entry(name, `<path d="${d3Shape(data.points[0]?.row !== undefined && drawnAsPixels(data.points) ? "square" : shape)}" fill="${colour}"></path>`));
  if (data.points.some((point) => point.rows && point.unfinished > 0)) {
    items.push(entry("some runs did not finish", '<circle r="6" fill="none" stroke="var(--text)"></circle>'));
  }
  list.replaceChildren(...items);
}

// Where a point is on the screen.
function eachPlace(visit) {
  for (const hit of drawn.hits) {
    const matrix = hit.node.getScreenCTM();
    if (!matrix) continue;
    for (const i of hit.index) visit(hit.list[i], matrix.a * hit.x[i] + matrix.e, matrix.d * hit.y[i] + matrix.f, hit);
  }
}

function nearest(left, top) {
  let best = -1, least = 28 * 28;
  eachPlace((point, x, y) => {
    const distance = (x - left) ** 2 + (y - top) ** 2;
    if (distance < least) { least = distance; best = point; }
  });
  return best;
}

// A ring around a point, and what it is in words.
function point(place) {
  drawn.chosen = place;
  drawn.ring?.remove();
  const tip = document.getElementById("tip");
  tip.textContent = place < 0 ? "\u00a0" : describe(drawn.points[place], drawn.data.columns);
  if (place < 0) return;
  for (const hit of drawn.hits) {
    const at = hit.list.indexOf(place);
    if (at < 0 || !hit.index.includes(at)) continue;
    const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    for (const [key, value] of [["cx", hit.x[at]], ["cy", hit.y[at]], ["r", 9], ["fill", "none"], ["stroke", "var(--accent)"], ["stroke-width", 2.5]]) ring.setAttribute(key, value);
    hit.node.append(ring);
    drawn.ring = ring;
  }
}

function describe(point, { x, y, c, fx, fy }) {
  const parts = [c && point.s, fx && `${fx.about.label} ${point.fx}`, fy && `${fy.about.label} ${point.fy}`].filter(Boolean);
  parts.push(`${x.about.label} ${x.isNumeric ? shown(point.x, x.about.unit) : point.x}`);
  const value = (number) => shown(number, y.about.unit);
  parts.push(`${y.about.label} ${value(point.y)}`);
  if (point.rows) parts.push(`10th to 90th percentile ${value(point.low)} to ${value(point.high)}`, `${point.rows.length} runs`);
  return parts.join(" · ");
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (drawn.view) draw(drawn.view, drawn.data); });
pictureBox.addEventListener("pointermove", (event) => point(nearest(event.clientX, event.clientY)));
pictureBox.addEventListener("click", (event) => {
  const place = nearest(event.clientX, event.clientY);
  if (place >= 0) window.ready = choosePoint(drawn.points[place], true);
});
pictureBox.addEventListener("keydown", (event) => {
  const count = drawn.points.length, { chosen } = drawn;
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  if (event.key in steps && count) point((Math.max(chosen, steps[event.key] > 0 ? -1 : 0) + steps[event.key] + count) % count);
  else if (event.key === "Enter" && chosen >= 0) window.ready = choosePoint(drawn.points[chosen], true);
  else return;
  event.preventDefault();
});
