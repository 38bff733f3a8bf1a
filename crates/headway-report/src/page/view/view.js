// The panels, and input of mouse, touch and keys.

const directions = JSON.parse(document.getElementById("data").textContent);
directions.forEach(prepare);

const select = document.getElementById("direction");
const view = { from: 0, to: 1 };
let data = directions[0];
let pointerAt = null, chosen = null;

const panels = GRAPHS.map((graph) => {
  const figure = document.createElement("figure");
  const caption = document.createElement("figcaption");
  const title = document.createElement("h3");
  title.textContent = graph.name;
  const legend = document.createElement("ul");
  legend.className = "legend";
  caption.append(title, legend);
  const canvas = document.createElement("canvas");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", graph.name + " over time; arrow keys move, plus and minus zoom, 0 shows all");
  canvas.style.height = graph.height + "px";
  const tip = document.createElement("p");
  tip.className = "tip";
  tip.setAttribute("aria-live", "polite");
  figure.append(caption, canvas, tip);
  document.getElementById("panels").append(figure);
  return { graph, figure, canvas, legend, tip, hidden: new Set() };
});

function inks() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue("--" + name).trim();
}

function limit() {
  const least = 1000, whole = Math.max(data.end, least);
  let width = Math.min(Math.max(view.to - view.from, least), whole * 1.04);
  const middle = (view.from + view.to) / 2;
  view.from = Math.max(-0.02 * whole, Math.min(middle - width / 2, 1.02 * whole - width));
  view.to = view.from + width;
}

function showAll() {
  view.from = -0.02 * data.end;
  view.to = 1.02 * data.end;
  redraw();
}

function zoom(factor, around) {
  const at = around === undefined ? (view.from + view.to) / 2 : around;
  view.from = at - (at - view.from) * factor;
  view.to = at + (view.to - at) * factor;
  limit();
  redraw();
}

function move(share) {
  const by = share * (view.to - view.from);
  view.from += by;
  view.to += by;
  limit();
  redraw();
}

let isDue = false;
function redraw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    const ink = inks();
    for (const panel of panels.filter((panel) => !panel.figure.hidden)) draw(panel, ink);
  });
}

function pen(panel, ink) {
  const { canvas, graph } = panel;
  const width = canvas.clientWidth, height = graph.height, ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  c.font = "12px system-ui, sans-serif";
  let [low, high] = graph.span(data, view, panel.hidden) || [0, 1];
  if (graph.zero) low = 0;
  if (high - low < 1) high = low + 1;
  const room = 0.06 * (high - low);
  high += room;
  low = graph.zero ? 0 : Math.max(low - room, -room);
  const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
  const x = (t) => MARGIN.left + (t - view.from) / (view.to - view.from) * (right - MARGIN.left);
  const y = (v) => bottom - (v - low) / (high - low) * (bottom - MARGIN.top);
  return { c, x, y, low, high, right, bottom, width, height, view, data, ink, letters: [] };
}

function draw(panel, ink) {
  const p = pen(panel, ink), { c } = p;
  panel.pen = p;
  axes(panel, p);
  c.save();
  c.beginPath();
  c.rect(MARGIN.left, MARGIN.top - 4, p.right - MARGIN.left, p.bottom - MARGIN.top + 4);
  c.clip();
  for (const series of panel.graph.series) if (!panel.hidden.has(series.name)) series.draw(p);
  if (chosen) {
    c.globalAlpha = 0.2;
    c.fillStyle = ink("accent");
    c.fillRect(p.x(chosen[0]), 0, p.x(chosen[1]) - p.x(chosen[0]), p.height);
    c.globalAlpha = 1;
  }
  if (pointerAt) {
    c.strokeStyle = ink("quiet");
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(p.x(pointerAt.time), MARGIN.top);
    c.lineTo(p.x(pointerAt.time), p.bottom);
    c.stroke();
  }
  c.restore();
  panel.tip.textContent = pointerAt ? describe(panel, p) : "\u00a0";
}

function axes(panel, p) {
  const { c, ink } = p;
  c.strokeStyle = ink("line");
  c.fillStyle = ink("quiet");
  c.lineWidth = 1;
  c.textAlign = "right";
  for (const [v, text] of marks(panel.graph.units, p.low, p.high, (p.bottom - MARGIN.top) / 32)) {
    c.beginPath(); c.moveTo(MARGIN.left, p.y(v)); c.lineTo(p.right, p.y(v)); c.stroke();
    c.fillText(text, MARGIN.left - 6, p.y(v) + 4);
  }
  c.textAlign = "center";
  for (const [t, text] of marks(DURATIONS, view.from, view.to, (p.right - MARGIN.left) / 90)) {
    c.beginPath(); c.moveTo(p.x(t), MARGIN.top); c.lineTo(p.x(t), p.bottom); c.stroke();
    const half = c.measureText(text).width / 2;
    c.fillText(text, Math.min(p.x(t), p.width - half), p.bottom + 17);
  }
}

// A description of the nearest point to the pointer.
function describe(panel, p) {
  const time = timeText(pointerAt.time, view.to - view.from);
  let best = null, least = 24 * 24;
  for (const [list, step, offset, words] of panel.graph.near(data)) {
    const reach = (view.to - view.from) * 0.03;
    eachIn(list, step, pointerAt.time - reach, pointerAt.time + reach, 0, (i) => {
      const dx = p.x(list[i]) - p.x(pointerAt.time);
      const dy = panel === pointerAt.panel ? p.y(list[i + offset]) - pointerAt.y : 0;
      const distance = dx * dx + dy * dy;
      if (distance < least) { least = distance; best = timeText(list[i], view.to - view.from) + ": " + words(i, list); }
    });
  }
  return best || time;
}

// A graph without data of what is chosen is left out.
function legends() {
  for (const panel of panels) {
    const series = panel.graph.series.filter((series) => series.has(data));
    panel.figure.hidden = series.length === 0;
    panel.legend.replaceChildren(...series.map((series) => {
      const item = document.createElement("li"), button = document.createElement("button"), swatch = document.createElement("i");
      swatch.style.background = `var(--${series.ink})`;
      button.type = "button";
      button.append(swatch, series.name);
      button.setAttribute("aria-pressed", String(!panel.hidden.has(series.name)));
      button.onclick = () => {
        if (!panel.hidden.delete(series.name)) panel.hidden.add(series.name);
        button.setAttribute("aria-pressed", String(!panel.hidden.has(series.name)));
        redraw();
      };
      item.append(button);
      return item;
    }));
  }
}

const ACTIONS = {
  in: () => zoom(0.5), out: () => zoom(2), left: () => move(-0.3), right: () => move(0.3), all: showAll,
};
const KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all" };
for (const button of document.querySelectorAll("[data-do]")) button.onclick = () => ACTIONS[button.dataset.do]();

for (const panel of panels) {
  const { canvas } = panel, pointers = new Map();
  let start = null;
  const timeAt = (px) => view.from + (px - MARGIN.left) / (panel.pen.right - MARGIN.left) * (view.to - view.from);
  canvas.addEventListener("keydown", (event) => {
    const action = KEYS[event.key];
    if (action && !event.ctrlKey && !event.metaKey) { ACTIONS[action](); event.preventDefault(); }
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / 600);
    else zoom(Math.exp(event.deltaY / 400), timeAt(event.offsetX));
  }, { passive: false });
  canvas.addEventListener("dblclick", showAll);
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event.offsetX);
    start = { from: view.from, to: view.to, x: event.offsetX, choose: event.shiftKey && timeAt(event.offsetX), gap: 0 };
  });
  canvas.addEventListener("pointermove", (event) => {
    pointerAt = { panel, time: timeAt(event.offsetX), y: event.offsetY };
    if (start && pointers.has(event.pointerId)) {
      pointers.set(event.pointerId, event.offsetX);
      drag(event.offsetX);
    }
    redraw();
  });
  const drag = (px) => {
    const places = [...pointers.values()];
    if (places.length > 1) {
      const gap = Math.max(10, Math.abs(places[0] - places[1]));
      if (start.gap) zoom(start.gap / gap, timeAt((places[0] + places[1]) / 2));
      start.gap = gap;
    } else if (start.choose !== false) {
      chosen = [start.choose, timeAt(px)];
    } else if (!start.gap) {
      const by = (px - start.x) / (panel.pen.right - MARGIN.left) * (start.to - start.from);
      view.from = start.from - by;
      view.to = start.to - by;
      limit();
    }
  };
  const release = (event) => {
    pointers.delete(event.pointerId);
    if (pointers.size) return;
    start = null;
    if (chosen) {
      const [from, to] = chosen.sort((a, b) => a - b);
      chosen = null;
      if (to > from) { view.from = from; view.to = to; limit(); }
    }
    redraw();
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { if (!start) { pointerAt = null; redraw(); } });
}

function choose(place) {
  data = directions[place];
  document.getElementById("thinned").hidden = !data.thinned;
  legends();
  showAll();
}

select.onchange = () => choose(Number(select.value));
window.addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
const shown = first(directions);
select.value = String(shown);
choose(shown);
