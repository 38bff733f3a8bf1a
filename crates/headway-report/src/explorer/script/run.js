// The runs of a point, and one run: what was measured of it, and how it is made again.

const heading = (level, text) => {
  const element = document.createElement(level);
  element.textContent = text;
  return element;
};
const paragraph = (text, name) => {
  const element = heading("p", text);
  if (name) element.className = name;
  return element;
};

// The table of a point's runs.
async function runsOf(table, point, { y }) {
  const [seed, run, finished] = await Promise.all(["seed", "run", "finished"].map((name) => table.column(name)));
  const cellText = (row) => table.cells[table.cellOf[row]].values.join(", ");
  const rows = point.rows ?? [point.row];
  const several = new Set(rows.map((row) => table.cellOf[row])).size > 1;
  const columns = [
    { label: "run", get: (row) => run.numberOf[row], text: (row) => asText(run.numberOf[row]) },
    several && { label: table.axes.map((axis) => axis.name).join(", "), get: cellText, text: (row) => asText(cellText(row)) },
    { label: y.about.label, get: (row) => y.numberOf[row], text: (row) => asNumber(y.numberOf[row], y.about.unit) },
    { label: "finished", get: (row) => finished.numberOf[row], text: (row) => asText(finished.numberOf[row] === 1 ? "yes" : "no") },
    { label: "time sequence", get: (row) => (table.sequences[row] ? 0 : 1), text: (row) => asText(table.sequences[row] ? "here" : "by command") },
    { label: "seed", get: (row) => seed.exact[row], text: (row) => asText(seed.exact[row]) },
  ];
  return list("Runs of the point", columns.filter(Boolean), rows, {
    key: "sr", open: (row) => chooseRun(row, true), isChosen: (row) => String(row) === state.r,
  });
}

function command(label, text, id) {
  const box = document.createElement("div");
  const line = box.appendChild(document.createElement("div"));
  line.className = "command";
  const code = document.createElement("pre");
  code.tabIndex = 0;
  code.append(Object.assign(document.createElement("code"), { textContent: text, id }));
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Copy" });
  button.onclick = () => copy(text, button);
  line.append(code, button);
  box.prepend(paragraph(label, "note"));
  return box;
}

async function copy(text, button) {
  const { textContent } = button;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed here";
  }
  setTimeout(() => { button.textContent = textContent; }, 1500);
}

// Everything that was measured.
async function facts(table, row) {
  const box = document.createElement("dl");
  box.className = "facts";
  for (const about of KNOWN.columns.filter((column) => column.role === "measure")) {
    const column = await table.column(about.name);
    const text = column.isNumeric && about.kind !== "flag" ? shown(column.numberOf[row], about.unit) : column.texts[column.codes[row]];
    if (text === "" || text === "none") continue;
    const line = box.appendChild(document.createElement("div"));
    const value = heading("dd", text);
    value.dataset.measure = about.name;
    if (column.isNumeric) value.dataset.value = value.title = String(column.numberOf[row]);
    line.append(Object.assign(heading("dt", about.label), { title: about.meaning }), value);
  }
  return box;
}

function sequence(table, row, cell) {
  const box = document.createElement("div");
  box.append(heading("h3", "Time sequence"));
  const here = table.sequences[row];
  if (!here) {
    const first = table.cellOf.indexOf(table.cellOf[row]);
    const other = Object.keys(table.sequences).map(Number).find((other) => other >= first && other < first + cell.runs);
    box.append(paragraph("This run was not made again when the folder was written. The command above with --report makes its time sequence; headway lab explore with --sequences N puts those of N cells here."));
    if (other !== undefined) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Show the run of this cell whose time sequence is here" });
      button.onclick = () => chooseRun(other, true);
      box.append(button);
    }
    return box;
  }
  const frame = document.createElement("iframe");
  frame.src = here;
  frame.title = "Time sequence of the run";
  frame.style.height = "60rem";
  const link = Object.assign(document.createElement("a"), { href: here, textContent: "Open it alone" });
  const line = document.createElement("p");
  line.append("The run was made again, in virtual time, when the folder was written. ", link, ".");
  box.append(line, frame);
  return box;
}

addEventListener("message", ({ source, data }) => {
  for (const frame of document.querySelectorAll("iframe")) {
    if (frame.contentWindow === source && Number.isFinite(data?.height)) frame.style.height = `${Math.min(20000, data.height + 8)}px`;
  }
});

async function showRun(table, row) {
  const box = document.getElementById("run"), cell = table.cells[table.cellOf[row]];
  const [seed, run] = await Promise.all([table.column("seed"), table.column("run")]);
  const values = table.axes.map((axis, place) => `${axis.name} ${cell.values[place]}`).join(" · ");
  const parts = [heading("h2", `Run ${run.numberOf[row]}`), paragraph(`${values} · seed ${seed.exact[row]}`, "note"), await facts(table, row)];
  if (cell.why) {
    parts.push(paragraph(cell.why));
  } else {
    parts.push(heading("h3", "Make it again"));
    if (table.outdated) parts.push(paragraph("Some of these results were made by other code: there the commands may give other numbers.", "failed"));
    if (table.recordings) parts.push(paragraph("Run it in this folder, which has the recorded links.", "note"));
    parts.push(
      command("The same numbers, as JSON", `${cell.command}${seed.exact[row]} --json`, "command"),
      command("The same run with its time sequence", `${cell.command}${seed.exact[row]} --report sequence.html`, "command-report"),
      command("In Python", `${cell.python}${seed.exact[row]})`, "command-python"),
      sequence(table, row, cell),
    );
  }
  box.replaceChildren(...parts);
}
