"use strict";

// Each slider: the key, its name, the values that it goes through. The value of a key is one of these texts, or any other
// that a link to this page names.
const sliders = {
  link: [
    ["rate", "Rate", ["100kbit", "250kbit", "500kbit", "1mbit", "2mbit", "5mbit", "10mbit", "20mbit", "50mbit", "100mbit"], "10mbit"],
    ["delay", "One-way delay", ["1ms", "5ms", "10ms", "20ms", "50ms", "100ms", "150ms", "300ms", "500ms"], "300ms"],
    ["queue", "Queue", ["5p", "20p", "50p", "100p", "200p", "0.5bdp", "1bdp", "2bdp"], "100p"],
  ],
  damage: [
    ["damage", "Damage", ["none", "random:0.1%", "random:1%", "random:5%", "random:10%", "random:20%", "burst:1%:5",
      "burst:2%:5", "burst:5%:5", "burst:10%:5"], "burst:5%:5"],
    ["header-hit", "Damaged packets with a damaged header", ["0%", "5%", "10%", "20%", "40%", "60%", "95%", "100%", "place"], "40%"],
    ["loss", "Silent loss", ["0%", "0.1%", "0.5%", "1%", "2%", "5%"], "0%"],
  ],
  transfer: [
    ["size", "Size", ["64KiB", "256KiB", "512KiB", "1MiB", "2MiB", "4MiB", "8MiB"], "1MiB"],
    ["window", "Window", ["32KiB", "64KiB", "256KiB", "1MiB", "4MiB", "16MiB"], "1MiB"],
  ],
};
const variants = ["newreno", "sack", "hack", "hack+sack", "xhack", "xhack+sack", "modern", "modern:bbr", "modern+hack", "headway", "modern:draft-bbr", "modern:copa", "modern:vivace"];
const chosen = ["sack", "hack+sack", "modern", "headway"];
const colours = ["#1f77b4", "#d95f02", "#2f9e44", "#c2255c", "#7048e8", "#b08900", "#0b8f8f", "#9c6644", "#6b7280", "#e03131", "#0c4a6e", "#86198f", "#65a30d"];

const $ = (id) => document.getElementById(id);
const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const svg = (name, attributes, text = "") => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
};

// --- the form ----------------------------------------------------------------------------------------

const inputs = new Map();

function build() {
  for (const [place, list] of Object.entries(sliders)) {
    for (const [key, name, values, initial] of list) {
      const input = element("input", { type: "range", min: 0, max: values.length - 1, step: 1, "aria-label": name });
      const output = element("output");
      $(place).append(element("label", {}, name, output, input));
      inputs.set(key, { input, output, values, initial });
      input.addEventListener("input", () => { show(key, values[input.value]); changed(); });
    }
  }
  const seed = element("input", { type: "text", id: "seed", inputmode: "numeric", value: "1" });
  $("transfer").append(element("label", {}, "Seed", seed));
  for (const name of variants) {
    const box = element("input", { type: "checkbox", value: name });
    $("senders").append(element("label", {}, box, ` ${name}`));
  }
  $("form").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["seed", "more"]) $(id).addEventListener("input", changed);
  $("senders").addEventListener("input", changed);
}

function show(key, value) {
  const { input, output, values } = inputs.get(key);
  const place = values.indexOf(value);
  if (place >= 0) input.value = place;
  output.value = value;
  input.setAttribute("aria-valuetext", value);
}

const boxes = () => [...$("senders").querySelectorAll("input")];

// Settings as they stand in a link: the keys, then seed and variants.
function settings() {
  const parameters = new URLSearchParams();
  for (const [key, { output }] of inputs) parameters.set(key, output.value);
  for (const pair of $("more").value.trim().split(/\s+/).filter(Boolean)) {
    const [key, ...value] = pair.split("=");
    parameters.set(key, value.join("="));
  }
  parameters.set("seed", $("seed").value.trim());
  parameters.set("variants", boxes().filter((box) => box.checked).map((box) => box.value).join(","));
  return parameters;
}

function restore() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  for (const [key, { initial }] of inputs) show(key, parameters.get(key) ?? initial);
  $("seed").value = parameters.get("seed") ?? "1";
  const names = parameters.has("variants") ? parameters.get("variants").split(",") : chosen;
  for (const box of boxes()) box.checked = names.includes(box.value);
  const others = [...parameters].filter(([key]) => !inputs.has(key) && key !== "seed" && key !== "variants");
  $("more").value = others.map(([key, value]) => `${key}=${value}`).join(" ");
}

// --- the simulator ------------------------------------------------------------------------------------

let worker, busy = false, waiting = false;

function start() {
  const code = `${$("engine").textContent}
    let race;
    onmessage = ({ data }) => {
      try {
        if (data.wasm) race = engine(data.wasm);
        else postMessage(JSON.parse(race(data)));
      } catch (error) {
        postMessage({ error: String(error) });
      }
    };`;
  worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  worker.onmessage = ({ data }) => { busy = false; present(data); if (waiting) run(); };
  worker.postMessage({ wasm: Uint8Array.from(atob($("wasm").textContent.trim()), (c) => c.charCodeAt(0)) });
}

let timer;

function changed() {
  clearTimeout(timer);
  timer = setTimeout(() => {
    history.replaceState(null, "", `#${settings()}`);
    run();
  }, 150);
}

function run() {
  // What is under way comes to its end; of what was asked meanwhile the last counts.
  waiting = busy;
  if (busy) return;
  const keys = Object.fromEntries(settings());
  const { seed, variants: names } = keys;
  delete keys.seed;
  delete keys.variants;
  if (!/^\d{1,15}$/.test(seed)) return present({ error: `seed: "${seed}": expected a whole number of at most 15 digits` });
  busy = true;
  $("state").textContent = "Running.";
  worker.postMessage({ keys, variants: names.split(",").filter(Boolean), seed: Number(seed) });
}

// --- the results --------------------------------------------------------------------------------------

const seconds = (value) => `${value.toPrecision(4)} s`;
const rate = (bits) => (bits >= 1e6 ? `${(bits / 1e6).toFixed(2)} Mbit/s` : `${(bits / 1e3).toFixed(1)} kbit/s`);

function present({ runs, command, error }) {
  $("state").textContent = error ? "" : `Done: ${runs.length} transfers.`;
  $("error").hidden = !error;
  $("error").textContent = error ?? "";
  $("results").hidden = Boolean(error);
  if (error) return;
  const colour = (run) => colours[Math.max(0, variants.indexOf(run.variant)) % colours.length];
  $("rows").replaceChildren(...runs.map((run) => element("tr", {},
    element("td", {}, run.variant),
    element("td", {}, run.finished ? seconds(run.seconds) : "not finished"),
    element("td", {}, rate(run.goodput_bps)),
    element("td", {}, `${run.damaged} of ${run.packets}`),
    element("td", {}, String(run.retransmissions)),
    element("td", {}, String(run.timeouts)),
    element("td", {}, element("code", {}, run.sha256)))));
  $("legend").replaceChildren(...runs.map((run) =>
    element("span", {}, element("i", { style: `background:${colour(run)}` }), run.variant)));
  $("command").textContent = `${command}\nsha256sum out/*.pcapng`;
  $("permalink").href = `#${settings()}`;
  draw(runs, colour);
}

// Round steps, at most six.
function steps(most) {
  const rough = most / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
}

function draw(runs, colour) {
  const [left, right, top, bottom] = [70, 780, 12, 300];
  const last = (run) => run.points[run.points.length - 1];
  // A sender that takes far longer than the others leaves the picture.
  const ends = runs.map((run) => last(run)[0]).sort((a, b) => a - b);
  const time = Math.min(ends[ends.length - 1], 6 * ends[0]) || 1;
  const bytes = Math.max(...runs.map((run) => last(run)[1])) || 1;
  const x = (at) => left + (right - left) * at / time, y = (at) => bottom - (bottom - top) * at / bytes;
  const parts = [];
  for (const at of steps(time)) {
    parts.push(svg("line", { x1: x(at), x2: x(at), y1: top, y2: bottom, class: "grid-line" }));
    parts.push(svg("text", { x: x(at), y: bottom + 20, "text-anchor": "middle" }, `${+at.toPrecision(6)} s`));
  }
  for (const at of steps(bytes / 1024)) {
    parts.push(svg("line", { x1: left, x2: right, y1: y(at * 1024), y2: y(at * 1024), class: "grid-line" }));
    parts.push(svg("text", { x: left - 8, y: y(at * 1024) + 4, "text-anchor": "end" }, `${at} KiB`));
  }
  for (const run of runs) {
    // Each ACK is a step; a line that goes on beyond the picture ends at its edge.
    const inside = run.points.filter(([at]) => at <= time);
    const stair = inside.flatMap(([at, of], place) => [[at, inside[Math.max(0, place - 1)][1]], [at, of]]);
    if (last(run)[0] > time) stair.push([time, inside[inside.length - 1][1]]);
    const points = stair.map(([at, of]) => `${x(at).toFixed(1)},${y(of).toFixed(1)}`).join(" ");
    parts.push(svg("polyline", { points, stroke: colour(run) }));
  }
  $("graph").replaceChildren(...parts);
}

build();
restore();
start();
run();
addEventListener("hashchange", () => { restore(); run(); });
