// All choices. They are in the fragment of the address, so that a view can be sent.

const DEFAULTS = { e: "0", y: "", x: "", c: "", fx: "", fy: "", a: "median", lx: "", ly: "", p: "", r: "", so: "", sr: "" };

const state = { ...DEFAULTS, filters: new Map(), ranges: new Map() };

// From the fragment. Filters are `f.AXIS=one~two`, ranges `r.COLUMN=low..high`.
function readState() {
  const words = new URLSearchParams(location.hash.slice(1));
  Object.assign(state, DEFAULTS, { filters: new Map(), ranges: new Map() });
  for (const [name, value] of words) {
    if (name in DEFAULTS) state[name] = value;
    else if (name.startsWith("f.")) state.filters.set(name.slice(2), new Set(value.split("~").map(decodeURIComponent)));
    else if (name.startsWith("r.")) {
      const [low, high] = value.split("..").map((end) => (end === "" ? null : Number(end)));
      if (!Number.isNaN(low) && !Number.isNaN(high)) state.ranges.set(name.slice(2), [low, high ?? null]);
    }
  }
}

function fragment() {
  const words = new URLSearchParams();
  for (const name of Object.keys(DEFAULTS)) if (state[name] !== DEFAULTS[name]) words.set(name, state[name]);
  for (const [axis, values] of state.filters) words.set(`f.${axis}`, [...values].map(encodeURIComponent).join("~"));
  for (const [column, [low, high]] of state.ranges) words.set(`r.${column}`, `${low ?? ""}..${high ?? ""}`);
  return `#${words}`;
}

function writeState() {
  history.replaceState(null, "", fragment());
}

// What the experiment's own figure shows, where nothing was chosen; what is not there is not chosen.
function complete(table) {
  const { start } = table;
  const asX = (name) => {
    const axis = table.axes.find((axis) => axis.name === name);
    return axis ? axis.column ?? `axis:${axis.name}` : "";
  };
  const isThere = (name) => COLUMNS.has(name) || table.axes.some((axis) => name === `axis:${axis.name}`);
  for (const name of ["x", "y", "c", "fx", "fy"]) if (state[name] && state[name] !== "none" && !isThere(state[name])) state[name] = "";
  if (!COLUMNS.has(state.y)) state.y = "";
  if (!["median", "mean", "runs"].includes(state.a)) state.a = "median";
  const given = { x: state.x || asX(start.x) || "run", y: state.y || start.y };
  const free = (name) => name && name !== start.x && table.axes.some((axis) => axis.name === name);
  const rest = table.axes.map((axis) => axis.name).find((name) => free(name) && name !== start.panels);
  const series = free(start.series) ? start.series : rest;
  given.c = state.c || (series ? `axis:${series}` : "none");
  given.fx = state.fx || (free(start.panels) && start.panels !== series ? `axis:${start.panels}` : "none");
  given.fy = state.fy || "none";
  // A chosen column is not shown twice.
  if (state.x && !state.c && given.c === given.x) given.c = "none";
  given.ly = state.ly === "" ? start.log : state.ly === "1";
  given.lx = state.lx === "1";
  return { ...given, a: state.a };
}
