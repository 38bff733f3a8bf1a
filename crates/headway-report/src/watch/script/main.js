// The choices, and when what is drawn.

const controls = document.getElementById("controls");
// `isLogarithmic`: `null` until someone chooses.
const chosen = { run: "", span: "", isLogarithmic: null, isPaused: false, hidden: new Set() };
let charts = [];

// How each group looks, also those that come later.
const groups = {
  looks: new Map(),
  look(name) {
    if (!this.looks.has(name)) this.looks.set(name, this.looks.size);
    return this.looks.get(name);
  },
};

function begin() {
  const { description } = feed;
  document.title = description.title;
  groups.looks = new Map(description.looks);
  document.getElementById("command").textContent = description.command;
  const isRace = description.time === "virtual";
  for (const id of ["run-choice", "logarithmic-choice"]) document.getElementById(id).hidden = !isRace;
  const spans = isRace ? [["first", "to the end of the shortest run"]] : [["60", "last minute"], ["600", "last 10 minutes"], ["3600", "last hour"]];
  controls.elements.span.replaceChildren(...[["", "all"], ...spans].map(([value, text]) => element("option", { value }, text)));
  charts = description.panels.map((panel) => new Chart(panel, { groups, look, moveLine, redraw: draw }));
  document.getElementById("panels").replaceChildren(...charts.map((chart) => chart.figure));
  draw();
}

// Many things may change before the next frame.
let isWaiting = false;
function changed() {
  if (isWaiting || chosen.isPaused) return;
  isWaiting = true;
  requestAnimationFrame(() => { isWaiting = false; draw(); });
}

function draw() {
  if (!feed.description) return;
  document.getElementById("progress").textContent = feed.progress ?? "";
  fillRuns();
  const sources = ofEachGroup();
  fillGroups(sources);
  const drawn = sources.filter(({ group }) => !chosen.hidden.has(group));
  const ends = drawn.map((source) => timesOf(source).at(-1) ?? 0);
  if (chosen.span === "first") view.span = [0, Math.min(...ends.filter((end) => end > 0), Infinity)];
  else if (chosen.span !== "") view.span = [Math.max(0, Math.max(0, ...ends) - Number(chosen.span)), Math.max(1, ...ends)];
  if (view.span && !Number.isFinite(view.span[1])) view.span = null;
  view.first = firstOfLogarithmic(drawn);
  for (const chart of charts) chart.draw(drawn);
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
}

// Where a logarithmic axis of time begins: when the first bytes arrive. `null`: the axis is linear.
function firstOfLogarithmic(drawn) {
  if (feed.description.time !== "virtual") return null;
  const ends = (sources) => sources.map((source) => timesOf(source).at(-1) ?? 0).filter((end) => end > 0);
  // On a linear axis the quick ones would be upright lines.
  const isLogarithmic = chosen.isLogarithmic ?? Math.max(...ends(drawn)) > 10 * Math.min(...ends(drawn.filter(({ note }) => note !== null)));
  controls.elements.logarithmic.checked = isLogarithmic;
  const begun = drawn.map((source) => timesOf(source).find((at, place) => at > 0 && source.columns[1][place] > 0));
  const first = Math.min(...begun.filter((at) => at !== undefined));
  return isLogarithmic && Number.isFinite(first) ? first : null;
}

// A source of each group: the chosen run, or that of the highest seed with samples, as runs may come in any order. Groups that are known from the beginning keep
// their order.
function ofEachGroup() {
  const found = new Map(feed.description.looks.map(([group]) => [group, null]));
  for (const source of feed.sources.values()) {
    const { group, label } = source;
    if (chosen.run !== "" && label !== chosen.run) continue;
    const best = found.get(group);
    const isBetter = !best || timesOf(best).length < 2 || Number(label) >= Number(best.label);
    if (isBetter && (timesOf(source).length > 1 || !best)) found.set(group, source);
  }
  return [...found.values()].filter((source) => source !== null);
}

function fillRuns() {
  const select = controls.elements.run;
  const labels = [...new Set([...feed.sources.values()].map(({ label }) => label))].sort((one, other) => Number(one) - Number(other));
  if (labels.join() === [...select.options].slice(1).map(({ value }) => value).join() && select.options.length > 0) return;
  const options = labels.map((label) => element("option", { value: label }, `seed ${label}`));
  select.replaceChildren(element("option", { value: "" }, "the highest seed of each sender"), ...options);
  if (!labels.includes(chosen.run)) chosen.run = "";
  select.value = chosen.run;
}

// The groups, each with a box that shows and hides it. Boxes stay, so that one that has the focus keeps it.
const rows = new Map();
function fillGroups(sources) {
  const box = document.getElementById("groups"), { description } = feed;
  const isRace = description.time === "virtual";
  if (!sources.length) { box.replaceChildren(); rows.clear(); return; }
  if (!rows.size) {
    const heads = [description.group, ...(isRace ? ["seed"] : []), "state"].map((text) => element("th", { scope: "col" }, text));
    const body = element("tbody");
    box.replaceChildren(element("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: description.group }, element("table", { className: "cards", ariaLabel: description.group }, element("thead", {}, element("tr", {}, ...heads)), body)));
  }
  const body = box.querySelector("tbody");
  for (const [place, { group, label, note }] of sources.entries()) {
    if (!rows.has(group)) {
      const input = element("input", { type: "checkbox", checked: true, autocomplete: "off" });
      input.onchange = () => { chosen.hidden[input.checked ? "delete" : "add"](group); draw(); };
      const name = element("label", { className: "name" }, input, swatch(groups.look(group)), group);
      const cells = [...(isRace ? ["seed"] : []), "state"].map((text) => element("td", { "data-label": text }));
      rows.set(group, element("tr", {}, element("th", { scope: "row" }, name), ...cells));
    }
    const row = rows.get(group), [state, run] = [...row.children].slice(1).reverse();
    if (run) run.textContent = label;
    state.textContent = note ?? "running";
    if (body.children[place] !== row) body.insertBefore(row, body.children[place] ?? null);
  }
  for (const [group, row] of rows) if (!sources.some((source) => source.group === group)) { row.remove(); rows.delete(group); }
}

controls.addEventListener("submit", (event) => event.preventDefault());
controls.elements.run.onchange = ({ target }) => { chosen.run = target.value; draw(); };
controls.elements.span.onchange = ({ target }) => {
  chosen.span = target.value;
  view.span = null;
  draw();
};
controls.elements.logarithmic.onchange = ({ target }) => { chosen.isLogarithmic = target.checked; draw(); };
document.getElementById("pause").onclick = ({ currentTarget }) => {
  chosen.isPaused = !chosen.isPaused;
  currentTarget.ariaPressed = String(chosen.isPaused);
  draw();
};
document.getElementById("all").onclick = () => look(null);
// The pictures share the line.
const moveLine = (time) => charts.forEach((chart) => chart.putLine(time));

// What is chosen in a picture takes the place of what was chosen in the list.
function look(span) {
  view.span = span;
  chosen.span = controls.elements.span.value = "";
  draw();
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
let width = 0;
new ResizeObserver(([{ contentRect }]) => {
  if (contentRect.width !== width && charts.length) draw();
  width = contentRect.width;
}).observe(document.getElementById("panels"));
follow({
  onStart: begin,
  onChange: changed,
  onState(text, isFailed) {
    const state = document.getElementById("state");
    state.textContent = text;
    state.className = isFailed ? "state failed" : "state";
  },
});
