// The graphs: their series, visible ranges, and how each series is drawn.

const SEGMENT_KINDS = [
  { key: "sent", name: "sent", ink: "sent" },
  { key: "gaps", name: "out of order", ink: "gap", mark: "O" },
  { key: "probes", name: "window probe", ink: "probe", mark: "P" },
  { key: "retransmitted", name: "retransmitted", ink: "retransmitted", mark: "R" },
  { key: "corrupted", name: "corrupted (header valid)", ink: "corrupted", mark: "X" },
];

// `list` holds time, low, high for each segment.
function drawSegments(pen, list, kind) {
  const { c, x, y, view } = pen;
  c.strokeStyle = c.fillStyle = pen.ink(kind.ink);
  const seen = firstFrom(list, 3, view.to) - firstFrom(list, 3, view.from);
  const isSparse = seen < (pen.right - MARGIN.left) / 4;
  c.lineWidth = 1.5;
  c.beginPath();
  eachIn(list, 3, view.from, view.to, 0, (i) => {
    const at = x(list[i]), top = y(list[i + 2]), bottom = y(list[i + 1]);
    c.moveTo(at, Math.max(bottom, top + 1.5));
    c.lineTo(at, top);
    // Arrowheads if there is room.
    if (isSparse && bottom - top > 8) {
      c.moveTo(at - 3, top + 3); c.lineTo(at, top); c.lineTo(at + 3, top + 3);
      c.moveTo(at - 3, bottom - 3); c.lineTo(at, bottom); c.lineTo(at + 3, bottom - 3);
    }
  });
  c.stroke();
  if (!kind.mark) return;
  c.textAlign = "center";
  // Overlapping letters are unreadable.
  let last = -Infinity;
  eachIn(list, 3, view.from, view.to, 0, (i) => {
    const at = x(list[i]);
    if (at - last < 9) return;
    last = at;
    c.fillText(kind.mark, at, y(list[i + 2]) - 4);
  });
}

// A step function over time: each value lasts until the next one.
function drawSteps(pen, list, step, offset, ink, width) {
  const { c, x, y, view } = pen;
  c.strokeStyle = pen.ink(ink);
  c.lineWidth = width;
  c.beginPath();
  let before = null;
  eachIn(list, step, view.from, view.to, 1, (i) => {
    const at = x(list[i]), value = y(list[i + offset]);
    if (before === null) c.moveTo(at, value);
    else { c.lineTo(at, before); c.lineTo(at, value); }
    before = value;
  });
  if (before !== null) c.lineTo(x(Math.min(view.to, pen.data.end)), before);
  c.stroke();
}

function drawDots(pen, list, ink, shape) {
  const { c, x, y, view } = pen;
  c.fillStyle = c.strokeStyle = pen.ink(ink);
  c.lineWidth = 1.5;
  eachIn(list, 2, view.from, view.to, 0, (i) => {
    const at = x(list[i]), value = y(list[i + 1]);
    c.beginPath();
    if (shape === "diamond") {
      c.moveTo(at, value - 5); c.lineTo(at + 5, value); c.lineTo(at, value + 5); c.lineTo(at - 5, value);
      c.closePath();
      c.fill();
    } else if (shape === "tick") {
      c.moveTo(at, value); c.lineTo(at, value + 6);
      c.stroke();
    } else if (shape === "Z") {
      c.textAlign = "center";
      c.fillText("Z", at, value - 4);
    } else {
      c.arc(at, value, 2, 0, 7);
      c.fill();
    }
  });
}

// The minimum and maximum of some numbers of the visible points.
function span(view, parts) {
  let low = Infinity, high = -Infinity;
  for (const [list, step, offsets, extra] of parts) {
    eachIn(list, step, view.from, view.to, extra, (i) => {
      for (const offset of offsets) {
        const value = list[i + offset];
        if (value < low) low = value;
        if (value > high) high = value;
      }
    });
  }
  return low > high ? null : [low, high];
}

const GRAPHS = [
  {
    name: "Time sequence", height: 360, text: sizeText, bytes: true,
    series: [
      { name: "window", ink: "window", has: (d) => d.edges.length, draw: (p) => drawSteps(p, p.data.edges, 3, 2, "window", 1) },
      { name: "acknowledged", ink: "ack", has: (d) => d.edges.length, draw: (p) => drawSteps(p, p.data.edges, 3, 1, "ack", 1.5) },
      { name: "duplicate ACK", ink: "duplicate", has: (d) => d.duplicates.length, draw: (p) => drawDots(p, p.data.duplicates, "duplicate", "tick") },
      {
        name: "SACK", ink: "sack", has: (d) => d.sacks.length,
        draw: (p) => drawSegments(p, p.data.sacks, { ink: "sack" }),
      },
      ...SEGMENT_KINDS.map((kind) => ({
        name: kind.name, ink: kind.ink, has: (d) => d[kind.key].length, draw: (p) => drawSegments(p, p.data[kind.key], kind),
      })),
      { name: "reported by a special ACK", ink: "special", has: (d) => d.special.length, draw: (p) => drawDots(p, p.data.special, "special", "diamond") },
      { name: "zero window", ink: "text", has: (d) => d.closed.length, draw: (p) => drawDots(p, p.data.closed, "text", "Z") },
    ],
    // The window is hidden at first: it may be far above the data.
    span: (d, view) => span(view, [
      ...SEGMENT_KINDS.map((kind) => [d[kind.key], 3, [1, 2], 0]), [d.edges, 3, [1], 1], [d.sacks, 3, [1, 2], 0],
    ]),
    near: (d) => [
      ...SEGMENT_KINDS.map((kind) => [d[kind.key], 3, 2, (i, l) => `${kind.name}: bytes ${l[i + 1]} to ${l[i + 2]}`]),
      [d.edges, 3, 1, (i, l) => `ACK ${l[i + 1]}, window ${l[i + 2] - l[i + 1]}`],
      [d.special, 2, 1, (i, l) => `special ACK names ${l[i + 1]}`],
      [d.sacks, 3, 2, (i, l) => `SACK ${l[i + 1]} to ${l[i + 2]}`],
    ],
  },
  {
    name: "Outstanding data", height: 170, text: sizeText, zero: true,
    series: [{ name: "sent and not acknowledged", ink: "sent", has: (d) => d.outstanding.length, draw: (p) => drawSteps(p, p.data.outstanding, 2, 1, "sent", 1.5) }],
    span: (d, view) => span(view, [[d.outstanding, 2, [1], 1]]),
    near: (d) => [[d.outstanding, 2, 1, (i, l) => sizeText(l[i + 1]) + " outstanding"]],
  },
  {
    name: "Round-trip time", height: 170, text: durationText, zero: true,
    series: [{ name: "round-trip time", ink: "rtt", has: (d) => d.rtt.length, draw: (p) => drawDots(p, p.data.rtt, "rtt", "dot") }],
    span: (d, view) => span(view, [[d.rtt, 2, [1], 0]]),
    near: (d) => [[d.rtt, 2, 1, (i, l) => "round-trip time " + durationText(l[i + 1])]],
  },
  {
    name: "Throughput", height: 170, text: rateText, zero: true,
    series: [
      { name: "all data", ink: "retransmitted", has: (d) => d.rates.length, draw: (p) => drawSteps(p, p.data.rates, 3, 1, "retransmitted", 1) },
      { name: "new data", ink: "sent", has: (d) => d.rates.length, draw: (p) => drawSteps(p, p.data.rates, 3, 2, "sent", 1.5) },
    ],
    span: (d, view) => span(view, [[d.rates, 3, [1, 2], 1]]),
    near: (d) => [[d.rates, 3, 2, (i, l) => `new data ${rateText(l[i + 2])}, all ${rateText(l[i + 1])}`]],
  },
];

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
