// The graphs of the senders of a race, each with its own data, and all of them over each other.

const RETRANSMITTED = [
  { key: "timeout", name: "retransmitted: timeout", ink: "timeout", mark: "T", letters: "text", width: 2.5, least: 8 },
  { key: "fast", name: "retransmitted: fast retransmit", ink: "fast", mark: "F", letters: "text", width: 2.5, least: 8 },
  { key: "other", name: "retransmitted: other reason", ink: "other", mark: "O", letters: "text", width: 2.5, least: 8 },
  { key: "damage", name: "retransmitted: damage", ink: "damage", mark: "D", letters: "text", width: 2.5, least: 8 },
];
const KINDS = [{ key: "sent", name: "sent", ink: "sent", width: 1.5, least: 1.5 }, ...RETRANSMITTED];
const senders = JSON.parse(document.getElementById("data").textContent).filter((data) => data.name);
const own = (d, key) => d[key] || [];

const GRAPHS = [
  {
    name: "Data acknowledged", height: 360, units: SIZES, zero: true,
    series: senders.map((sender, place) => ({
      name: sender.name, ink: `series-${place}`,
      has: (d) => d.all && sender.acks.length,
      draw: (p) => drawSteps(p, sender.acks, 2, 1, `series-${place}`, 2, sender.end),
    })),
    span: (d, view, hidden) => span(view, senders.filter((sender) => !hidden.has(sender.name)).map((sender) => [sender.acks, 2, [1], 1])),
    near: () => senders.map((sender) => [sender.acks, 2, 1, (i, l) => `${sender.name}: ${inUnit(SIZES, l[i + 1], 2)} acknowledged`]),
  },
  {
    name: "Time sequence", height: 360, units: SIZES,
    series: [
      { name: "acknowledged", ink: "ack", has: (d) => own(d, "acks").length, draw: (p) => drawSteps(p, p.data.acks, 2, 1, "ack", 1.5) },
      { name: "reported by a special ACK", ink: "special", has: (d) => own(d, "special").length, draw: (p) => drawDots(p, p.data.special, "special", "diamond") },
      ...KINDS.map((kind) => ({
        name: kind.name, ink: kind.ink, has: (d) => own(d, kind.key).length, draw: (p) => drawSegments(p, p.data[kind.key], kind),
      })),
    ],
    span: (d, view) => span(view, [...KINDS.map((kind) => [own(d, kind.key), 3, [1, 2], 0]), [own(d, "acks"), 2, [1], 1]]),
    near: (d) => [
      ...KINDS.map((kind) => [own(d, kind.key), 3, 2, (i, l) => `${kind.name}: bytes ${l[i + 1]} to ${l[i + 2]}`]),
      [own(d, "acks"), 2, 1, (i, l) => `ACK ${l[i + 1]}`],
      [own(d, "special"), 2, 1, (i, l) => `special ACK reports ${l[i + 1]}`],
    ],
  },
  {
    name: "Congestion window", height: 200, units: SIZES, zero: true,
    series: [{ name: "congestion window", ink: "window", has: (d) => own(d, "windows").length, draw: (p) => drawSteps(p, p.data.windows, 2, 1, "window", 1.5) }],
    span: (d, view) => span(view, [[own(d, "windows"), 2, [1], 1]]),
    near: (d) => [[own(d, "windows"), 2, 1, (i, l) => "congestion window " + inUnit(SIZES, l[i + 1], 2)]],
  },
];

function prepare() {}

// All senders, where there are several.
function first() {
  return 0;
}
