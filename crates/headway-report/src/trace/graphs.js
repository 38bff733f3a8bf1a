// The graphs of a connection: their series and visible ranges.

// What is seldom is drawn wider and at least so high, so that what is frequent does not hide it.
const SEGMENT_KINDS = [
  { key: "sent", name: "new data", ink: "sent", width: 1.5, least: 1.5 },
  { key: "gaps", name: "out of order", ink: "gap", mark: "O", width: 2, least: 6 },
  { key: "probes", name: "window probe", ink: "probe", mark: "P", width: 2, least: 6 },
  { key: "corrupted", name: "corrupted (header valid)", ink: "corrupted", mark: "X", width: 2, least: 6 },
  { key: "retransmitted", name: "retransmitted", ink: "retransmitted", mark: "R", width: 2.5, least: 8 },
];

// SACK blocks are long and come with each duplicate ACK: they lie beneath all else, and pale.
function drawSacks(pen) {
  pen.c.globalAlpha = 0.45;
  drawSegments(pen, pen.data.sacks, { ink: "sack", width: 1, least: 1.5 });
  pen.c.globalAlpha = 1;
}

// The window where all of it is in sight: otherwise the graph says that it lies above.
function drawWindow(pen) {
  const { c, view, data } = pen;
  const edges = span(view, [[data.edges, 3, [2], 1]]);
  if (!edges) return;
  if (edges[1] <= pen.high) { drawSteps(pen, data.edges, 3, 2, "window", 1.5); return; }
  c.fillStyle = pen.ink("window");
  c.textAlign = "left";
  const text = `\u2191 window, up to ${inUnit(SIZES, edges[1], 2)}`;
  c.fillText(text, MARGIN.left + 6, MARGIN.top + 12);
  const { width } = c.measureText(text);
  pen.letters.push({ left: MARGIN.left, right: MARGIN.left + width + 8, top: 0, bottom: MARGIN.top + 16 });
}

// Room for the window too, unless it lies so far above the data that this would flatten the data.
function withWindow(data, window) {
  const FARTHEST = 3;
  if (!data || !window) return data || window;
  const [low, high] = data;
  return window[1] - low <= FARTHEST * (high - low) ? [Math.min(low, window[0]), Math.max(high, window[1])] : data;
}

const GRAPHS = [
  {
    name: "Time sequence", height: 360, units: SIZES,
    series: [
      {
        name: "SACK", ink: "sack", has: (d) => d.sacks.length,
        draw: drawSacks,
      },
      { name: "window", ink: "window", has: (d) => d.edges.length, draw: drawWindow },
      { name: "acknowledged", ink: "ack", has: (d) => d.edges.length, draw: (p) => drawSteps(p, p.data.edges, 3, 1, "ack", 1.5) },
      { name: "duplicate ACK", ink: "duplicate", has: (d) => d.duplicates.length, draw: (p) => drawDots(p, p.data.duplicates, "duplicate", "tick") },
      { name: "reported by a special ACK", ink: "special", has: (d) => d.special.length, draw: (p) => drawDots(p, p.data.special, "special", "diamond") },
      // Retransmissions, the last of these, are on top.
      ...SEGMENT_KINDS.map((kind) => ({
        name: kind.name, ink: kind.ink, has: (d) => d[kind.key].length, draw: (p) => drawSegments(p, p.data[kind.key], kind),
      })),
      { name: "zero window", ink: "text", has: (d) => d.closed.length, draw: (p) => drawDots(p, p.data.closed, "text", "Z") },
    ],
    span: (d, view, hidden) => {
      const data = span(view, [
        ...SEGMENT_KINDS.map((kind) => [d[kind.key], 3, [1, 2], 0]), [d.edges, 3, [1], 1], [d.sacks, 3, [1, 2], 0],
      ]);
      return hidden.has("window") ? data : withWindow(data, span(view, [[d.edges, 3, [2], 1]]));
    },
    near: (d) => [
      ...SEGMENT_KINDS.map((kind) => [d[kind.key], 3, 2, (i, l) => `${kind.name}: bytes ${l[i + 1]} to ${l[i + 2]}`]),
      [d.edges, 3, 1, (i, l) => `ACK ${l[i + 1]}, window ${l[i + 2] - l[i + 1]}`],
      [d.special, 2, 1, (i, l) => `special ACK reports ${l[i + 1]}`],
      [d.sacks, 3, 2, (i, l) => `SACK ${l[i + 1]} to ${l[i + 2]}`],
    ],
  },
  {
    name: "Outstanding data", height: 170, units: SIZES, zero: true,
    series: [{ name: "sent and not acknowledged", ink: "outstanding", has: (d) => d.outstanding.length, draw: (p) => drawSteps(p, p.data.outstanding, 2, 1, "outstanding", 1.5) }],
    span: (d, view) => span(view, [[d.outstanding, 2, [1], 1]]),
    near: (d) => [[d.outstanding, 2, 1, (i, l) => inUnit(SIZES, l[i + 1], 2) + " outstanding"]],
  },
  {
    name: "Round-trip time", height: 170, units: DURATIONS, zero: true,
    series: [{ name: "round-trip time", ink: "rtt", has: (d) => d.rtt.length, draw: (p) => drawDots(p, p.data.rtt, "rtt", "dot") }],
    span: (d, view) => span(view, [[d.rtt, 2, [1], 0]]),
    near: (d) => [[d.rtt, 2, 1, (i, l) => "round-trip time " + inUnit(DURATIONS, l[i + 1], 3)]],
  },
  {
    name: "Throughput", height: 170, units: RATES, zero: true,
    series: [
      { name: "all data", ink: "all", has: (d) => d.rates.length, draw: (p) => drawSteps(p, p.data.rates, 3, 1, "all", 3) },
      { name: "new data", ink: "sent", has: (d) => d.rates.length, draw: (p) => drawSteps(p, p.data.rates, 3, 2, "sent", 1.5) },
    ],
    span: (d, view) => span(view, [[d.rates, 3, [1, 2], 1]]),
    near: (d) => [[d.rates, 3, 2, (i, l) => `new data ${inUnit(RATES, l[i + 2], 2)}, all ${inUnit(RATES, l[i + 1], 2)}`]],
  },
];

// What is not in the data as it stands.
function prepare(data) {
  data.rates = rates(data.throughput);
}

// The direction with the most data is shown first.
function first(directions) {
  const weight = (d) => d.throughput.points.reduce((sum, bytes) => sum + bytes, 0);
  return directions.reduce((best, d, place) => (weight(d) > weight(directions[best]) ? place : best), 0);
}

// Throughput in about 200 intervals of the whole time.
function rates(throughput) {
  const { width, points } = throughput, count = points.length / 2;
  const group = Math.max(1, Math.ceil(count / 200)), list = [];
  const perSecond = 8e9 / (width * group);
  for (let first = 0; first < count; first += group) {
    let all = 0, fresh = 0;
    for (let i = first; i < Math.min(first + group, count); i += 1) { all += points[2 * i]; fresh += points[2 * i + 1]; }
    list.push(first * width, all * perSecond, fresh * perSecond);
  }
  if (count) list.push(count * width, 0, 0);
  return list;
}
