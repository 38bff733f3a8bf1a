// The lists of choices, and what follows from a choice.

const form = document.getElementById("choices");
let now = { table: null, view: null, data: null };

// The choices of a list, in groups.
function options(select, groups, value) {
  select.replaceChildren(...groups.filter(([, entries]) => entries.length).map(([label, entries]) => {
    const list = entries.map(([value, text, title]) => Object.assign(document.createElement("option"), { value, textContent: text, title: title ?? "" }));
    if (!label) return list;
    const group = Object.assign(document.createElement("optgroup"), { label });
    group.append(...list);
    return [group];
  }).flat());
  select.value = value;
}

function fillChoices(table, view) {
  const axes = table.axes.map((axis) => [`axis:${axis.name}`, axis.name]);
  const numbers = table.axes.filter((axis) => axis.column).map((axis) => [axis.column, `${axis.name} (number)`]);
  const measures = KNOWN.columns.filter((column) => column.role === "measure" && column.kind !== "text").map((column) => [column.name, column.label, column.meaning]);
  const others = KNOWN.columns.filter((column) => column.role !== "measure").map((column) => [column.name, column.label, column.meaning]);
  options(form.elements.y, [["Measures", measures]], view.y);
  options(form.elements.x, [["Axes", [...numbers, ...axes]], ["Measures", measures], ["Other columns", others]], view.x);
  for (const name of ["c", "fx", "fy"]) options(form.elements[name], [["", [["none", "none"]]], ["Axes", axes], ["Other columns", [["finished", "finished"], ...others]]], view[name]);
  form.elements.e.value = state.e;
  form.elements.a.value = view.a;
  form.elements.lx.checked = view.lx;
  form.elements.ly.checked = view.ly;
}

function fillFilters(table) {
  const parts = table.axes.map((axis) => {
    const box = document.createElement("fieldset");
    box.append(heading("legend", axis.name));
    const chosen = state.filters.get(axis.name);
    for (const value of axis.values) {
      const label = box.appendChild(document.createElement("label"));
      const input = Object.assign(document.createElement("input"), { type: "checkbox", autocomplete: "off", checked: !chosen || chosen.has(value) });
      input.dataset.axis = axis.name;
      input.value = value;
      label.append(input, value);
    }
    return box;
  });
  const range = document.createElement("fieldset");
  range.append(heading("legend", "Measures between"));
  const measures = KNOWN.columns.filter((column) => column.role === "measure" && column.kind !== "text");
  const select = document.createElement("select");
  select.setAttribute("aria-label", "Measure");
  options(select, [["", measures.map((column) => [column.name, column.label, column.meaning])]], [...state.ranges.keys()][0] ?? state.y ?? "");
  const ends = ["low", "high"].map((end) => Object.assign(document.createElement("input"), { type: "number", step: "any", placeholder: end, ariaLabel: end }));
  const set = () => {
    const [low, high] = ends.map((end) => (end.value === "" ? null : Number(end.value)));
    if (low === null && high === null) state.ranges.delete(select.value);
    else state.ranges.set(select.value, [low, high]);
    changed();
  };
  const show = () => ends.forEach((end, place) => { end.value = state.ranges.get(select.value)?.[place] ?? ""; });
  select.onchange = show;
  if (select.selectedIndex < 0) select.selectedIndex = 0;
  show();
  for (const end of ends) end.onchange = set;
  const unit = document.createElement("span");
  range.append(select, " ", ends[0], " ", ends[1], unit);
  document.getElementById("filter-list").replaceChildren(...parts, range);
}

// After each choice: the address, the picture and the table. The time that it took is in the page, for measurements.
function changed() {
  writeState();
  update();
}

let latest = 0;
function update() {
  // Whoever looks at the page with a program can wait for it.
  window.ready = redraw();
}

async function redraw() {
  const turn = ++latest, began = performance.now();
  try {
    if (!KNOWN.experiments[state.e]) state.e = "0";
    const table = await load(Number(state.e));
    const view = complete(table);
    const data = await pointsOf(table, view);
    if (turn !== latest) return;
    if (now.table !== table) fillFilters(table);
    now = { table, view, data };
    fillChoices(table, view);
    about(table, data);
    draw(view, data);
    document.getElementById("points").replaceChildren(pointsTable(data, view));
    const point = data.points.find((point) => nameOf(point) === state.p);
    await choosePoint(point, false);
    await chooseRun(state.r === "" ? -1 : Number(state.r), false);
    document.body.dataset.took = String(performance.now() - began);
    document.body.dataset.turn = String(turn);
  } catch (error) {
    document.getElementById("counted").textContent = `The runs cannot be shown: ${error.message}`;
    document.getElementById("counted").className = "failed";
    throw error;
  }
}

function about(table, { rows, points, left }) {
  document.getElementById("title").textContent = table.title;
  const parts = [table.name, table.source, `${table.length} runs of ${table.cells.length} cells`];
  if (table.missing) parts.push(`${table.missing} runs are missing`);
  document.getElementById("about").textContent = parts.filter(Boolean).join(" · ");
  const counted = document.getElementById("counted");
  counted.className = "";
  const what = now.view.a === "runs" ? `${points.length} runs` : `${points.length} points of ${rows.length - left} runs`;
  counted.textContent = what + (rows.length < table.length ? `; filters leave out ${table.length - rows.length}` : "")
    + (left ? `; ${left} have no value here` : "") + ".";
}

async function choosePoint(chosen, isClick) {
  const box = document.getElementById("chosen");
  if (isClick) {
    state.p = nameOf(chosen);
    state.r = "";
    writeState();
    document.getElementById("points").replaceChildren(pointsTable(now.data, now.view));
    document.getElementById("run").replaceChildren();
  }
  if (!chosen) { box.replaceChildren(); return; }
  point(now.data.points.indexOf(chosen));
  const runs = await runsOf(now.table, chosen, now.data.columns);
  box.replaceChildren(heading("h2", "Runs of the point"), paragraph(describe(chosen, now.data.columns), "note"), runs);
  const count = chosen.rows?.length ?? 1;
  if (isClick && count === 1) await chooseRun(chosen.rows?.[0] ?? chosen.row, true);
  else if (isClick) box.scrollIntoView({ block: "start" });
}

async function chooseRun(row, isClick) {
  const box = document.getElementById("run");
  if (!(row >= 0 && row < now.table.length)) { box.replaceChildren(); return; }
  if (isClick) {
    state.r = String(row);
    writeState();
    const chosen = now.data.points.find((point) => nameOf(point) === state.p);
    if (chosen) document.querySelector("#chosen > div:last-child")?.replaceWith(await runsOf(now.table, chosen, now.data.columns));
  }
  await showRun(now.table, row);
  if (isClick) box.scrollIntoView({ block: "start" });
}

form.addEventListener("change", ({ target }) => {
  const value = target.type === "checkbox" ? (target.checked ? "1" : "0") : target.value;
  if (target.name === "e") Object.assign(state, DEFAULTS, { filters: new Map(), ranges: new Map() });
  state[target.name] = value;
  // What is where depends on them: a point of another picture is not one of this.
  if (target.name !== "y" && target.name !== "ly" && target.name !== "lx") Object.assign(state, { p: "", r: "", so: "" });
  changed();
});
form.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("filter-list").addEventListener("change", ({ target }) => {
  const { axis } = target.dataset;
  if (!axis) return;
  const inputs = [...document.querySelectorAll("#filter-list input")].filter((input) => input.dataset.axis === axis);
  const chosen = inputs.filter((input) => input.checked).map((input) => input.value);
  if (chosen.length === inputs.length) state.filters.delete(axis);
  else state.filters.set(axis, new Set(chosen));
  changed();
});
document.getElementById("reset").onclick = () => {
  Object.assign(state, DEFAULTS, { e: state.e, filters: new Map(), ranges: new Map() });
  fillFilters(now.table);
  changed();
};
document.getElementById("link").onclick = ({ target }) => copy(location.href, target);
addEventListener("hashchange", () => {
  if (location.hash === fragment()) return;
  readState();
  if (now.table) fillFilters(now.table);
  update();
});
let width = 0;
new ResizeObserver(() => {
  // The picture is as wide as its place; its own height is none of its concern.
  if (now.data && pictureBox.clientWidth !== width) draw(now.view, now.data);
  width = pictureBox.clientWidth;
}).observe(pictureBox);
readState();
update();
