// A picture with its table: a line for each group that is shown, or for each count of one group.

// Of the table. On narrow screens there is less.
const COLUMNS = [["", ""], ["latest", ""], ["at the pointer", ""], ["least", "less"], ["mean", "less"], ["most", ""]];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2, 1, 2, 1, 2]];
const COLOURS = 9;
// Between two labels at an axis of time, at least.
const SPACE = 70;
// The span of time that all pictures show; `null`: all. Of a logarithmic axis where it begins; `null`: it is linear.
const view = { span: null, first: null };

const colourOf = (look) => `--series-${look % COLOURS}`;
const inkOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// No meaning rests on the colour alone.
const dashOf = (look) => DASHES[look % DASHES.length];

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function swatch(look) {
  const make = (name, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const svg = make("svg", { viewBox: "0 0 34 16", "aria-hidden": "true" });
  const line = make("line", { x1: 0, x2: 34, y1: 8, y2: 8, "stroke-width": 4, "stroke-dasharray": dashOf(look).join(" ") });
  line.style.stroke = `var(${colourOf(look)})`;
  svg.append(line);
  return element("span", { className: "swatch" }, svg);
}

class Chart {
  // `place` is where the panel stands in the description.
  constructor(panel, { groups, look, moveLine, redraw }) {
    Object.assign(this, { panel, groups, look, moveLine, lines: [] });
    const unit = panel.unit ? ` (${panel.unit})` : "";
    const caption = element("figcaption", {}, element("h2", {}, panel.title + unit));
    this.isOfOne = panel.lines.length > 1;
    if (this.isOfOne) {
      this.choice = element("select", { ariaLabel: feed.description.group, autocomplete: "off", onchange: redraw });
      caption.append(this.choice);
    }
    caption.append(element("p", { className: "note" }, panel.about));
    this.picture = element("div", { className: "picture", tabIndex: 0, role: "application", ariaLabel: panel.title });
    this.body = element("tbody");
    const heads = COLUMNS.map(([text, className]) => (text === "" ? element("td", {}) : element("th", { scope: "col", className }, text)));
    const table = element("table", { className: "numbers", ariaLabel: panel.title }, element("thead", {}, element("tr", {}, ...heads)), this.body);
    this.figure = element("figure", {}, caption, this.picture, element("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: panel.title }, table));
    this.picture.addEventListener("keydown", (event) => this.press(event));
  }

  // The picture, with as many lines as there are to be. uPlot cannot change how lines look.
  make(lines) {
    this.plot?.destroy();
    const text = inkOf("--quiet"), grid = inkOf("--line");
    const axis = { stroke: text, font: "12px system-ui, sans-serif", grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
    const chart = this;
    this.plot = new uPlot({
      width: this.picture.clientWidth, height: this.height(), legend: { show: false },
      cursor: {
        sync: { key: "headway" }, drag: { x: true, y: false, setScale: false }, points: { size: 7 },
        bind: { dblclick: () => () => { chart.look(null); return null; } },
      },
      scales: { x: { time: false, distr: view.first === null ? 1 : 3, range: (_, low, high) => rangeOfTime(low, high) }, y: { range: (_, low, high) => rangeOfValues(low, high) } },
      axes: [
        { ...axis, size: 34, space: SPACE, filter: marked, values: (_, splits) => splits.map((at) => (at === null ? null : clock(at))) },
        { ...axis, size: 62, space: 34, values: (_, splits) => splits.map(tick) },
      ],
      series: [{}, ...lines.map(({ name, look }) => ({ label: name, stroke: inkOf(colourOf(look)), width: 1.6, dash: dashOf(look), points: { show: false } }))],
      hooks: {
        setSelect: [(plot) => {
          if (plot.select.width < 5) return;
          const [low, high] = [plot.select.left, plot.select.left + plot.select.width].map((left) => plot.posToVal(left, "x"));
          plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          chart.look([low, high]);
        }],
        setCursor: [() => chart.read()],
      },
    }, [[], ...lines.map(() => [])], this.picture);
    this.key = keyOf(lines);
  }

  height() {
    return this.picture.clientWidth < 420 ? 200 : 260;
  }

  // Draws `sources`, one of each group, or the chosen one.
  draw(sources) {
    const { panel } = this;
    if (this.isOfOne) this.fillChoice(sources);
    const one = this.isOfOne ? sources.find(({ group }) => group === this.choice.value) : null;
    const span = view.span ?? [0, Math.max(0, ...sources.map((source) => timesOf(source).at(-1) ?? 0))];
    const window = (at) => (feed.description.time !== "virtual" ? 0 : view.first === null ? (span[1] - span[0]) / 100 : at / 10);
    const line = (source, part, name, look) => ({ name, look, times: timesOf(source), values: lineOf(source, part, window) });
    this.lines = this.isOfOne
      ? (one ? panel.lines.map((part, place) => line(one, part, part.label, place)) : [])
      : sources.map((source) => line(source, panel.lines[0], source.group, this.groups.look(source.group)));
    // With equal ink or width the picture is the same.
    const width = this.picture.clientWidth;
    if (!this.plot || this.key !== keyOf(this.lines)) this.make(this.lines);
    else if (this.plot.width !== width) this.plot.setSize({ width, height: this.height() });
    this.plot.setData(joined(this.lines));
    this.fillTable(span);
  }

  fillChoice(sources) {
    const names = sources.map(({ group }) => group);
    if (names.join("\n") === [...this.choice.options].map(({ value }) => value).join("\n")) return;
    const { value } = this.choice;
    this.choice.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
    // The last of a race is headway, the first direction of a box is forward.
    const usual = names.at(feed.description.time === "virtual" ? -1 : 0) ?? "";
    this.choice.value = names.includes(value) && this.isChosen ? value : usual;
    this.choice.oninput = () => { this.isChosen = true; };
  }

  fillTable([low, high]) {
    const { unit } = this.panel;
    const rows = this.lines.map(({ name, look, times, values }) => {
      const { least, mean, most } = summary(times, values, low, high);
      const cells = [values.findLast((value) => value !== null), null, least, mean, most].map((value) => shown(value, unit));
      return element("tr", {}, element("th", { scope: "row" }, element("span", { className: "name" }, swatch(look), name)),
        ...cells.map((text, place) => element("td", { className: COLUMNS[place + 1][1] }, text)));
    });
    this.body.replaceChildren(...rows);
    this.picture.ariaLabel = `${this.panel.title}: ${this.lines.length} lines; the table beneath has their values`;
    this.read();
  }

  // The values at the cursor's time.
  read() {
    const left = this.plot?.cursor.left ?? -1;
    const time = left >= 0 ? this.plot.posToVal(left, "x") : null;
    this.lines.forEach(({ times, values }, place) => {
      const cell = this.body.children[place]?.children[2];
      if (cell) cell.textContent = shown(time === null ? null : valueAt(times, values, time), this.panel.unit);
    });
  }

  // Puts the line at a time, if that is in the picture.
  putLine(time) {
    const left = this.plot.valToPos(time, "x");
    this.plot.setCursor({ left: left <= this.plot.over.clientWidth ? left : -10, top: 0 });
  }

  press(event) {
    const { plot } = this;
    const width = plot.over.clientWidth, left = plot.cursor.left >= 0 ? plot.cursor.left : width / 2;
    const move = (to) => this.moveLine(plot.posToVal(Math.min(Math.max(to, 0), width), "x"));
    const zoom = (factor) => this.look([left - left * factor, left + (width - left) * factor].map((to) => plot.posToVal(to, "x")));
    const step = width / (event.shiftKey ? 10 : 100);
    const actions = {
      ArrowLeft: () => move(left - step), ArrowRight: () => move(left + step), Home: () => move(0), End: () => move(width),
      "+": () => zoom(0.5), "-": () => zoom(2), 0: () => this.look(null),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
}

const keyOf = (lines) => lines.map(({ name, look }) => `${name} ${look}`).join("\n") + matchMedia("(prefers-color-scheme: dark)").matches + (view.first === null);

// All lines on one list of times, as uPlot wants them. Lines go on where another has a time of its own.
function joined(lines) {
  const drawn = lines.map(({ times, values }) => [times, values]);
  return drawn.length ? uPlot.join(drawn) : [[]];
}

// Which marks of an axis of time have a label: of a logarithmic one as many as there is room for.
function marked(plot, splits) {
  if (view.first === null) return splits;
  const { min, max } = plot.scales.x, decade = plot.over.clientWidth / Math.log10(max / min);
  const digits = ["125", "13", "1"].find((digits) => decade * Math.log10(digits === "125" ? 2 : 3) >= SPACE) ?? "1";
  return splits.map((at) => (digits.includes(at.toExponential()[0]) ? at : null));
}

function rangeOfTime(low, high) {
  if (view.first !== null) {
    const [from, until] = view.span ?? [0, high ?? 0];
    return [Math.max(from, view.first), Math.max(until, 2 * view.first)];
  }
  if (view.span) return view.span;
  return low === null || low === high ? [0, (low ?? 0) + 1] : [Math.min(0, low), high];
}

function rangeOfValues(low, high) {
  if (low === null || high <= 0) return [0, 1];
  return [0, high * 1.05];
}

// Of the values in a span of time. Samples are not evenly spaced: each counts for the time until the next.
function summary(times, values, low, high) {
  let least = null, most = null, sum = 0, seconds = 0;
  values.forEach((value, place) => {
    const time = times[place];
    if (value === null || value === undefined || time < low || time > high) return;
    least = least === null ? value : Math.min(least, value);
    most = most === null ? value : Math.max(most, value);
    const lasts = Math.min(high, times[place + 1] ?? time) - time;
    sum += value * lasts;
    seconds += lasts;
  });
  return { least, most, mean: seconds > 0 ? sum / seconds : least };
}

// The last value at a time or before it; none before the first sample and behind the last.
function valueAt(times, values, time) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  const isInside = low > 0 && (low < times.length || times[low - 1] === time);
  return isInside ? values[low - 1] : null;
}
