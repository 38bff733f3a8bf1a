// Tables that are sorted by a click on a column's name, and show more rows when asked.

const ROWS = 25;

// `columns` are { label, get(row), text(row), isNumber }; `open(row)` is what the first cell's button does. The order
// is kept in the state under `key`.
function list(name, columns, rows, { key, open, isChosen = () => false }) {
  let shownRows = ROWS;
  const box = document.createElement("div");
  const scroll = document.createElement("div");
  scroll.className = "scroll";
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", name);
  const element = scroll.appendChild(document.createElement("table"));
  element.className = "numbers cards";
  const more = document.createElement("button");
  more.type = "button";
  more.className = "more";
  more.onclick = () => { shownRows *= 4; fill(); };
  box.append(scroll, more);

  function sorted() {
    const [place, direction] = (state[key] || "").split("~");
    const column = columns[Number(place)];
    if (!state[key] || !column) return rows;
    const sign = direction === "down" ? -1 : 1;
    const compare = (one, other) => {
      const [a, b] = [column.get(one), column.get(other)];
      if (typeof a === "number" && typeof b === "number") return (Number.isNaN(a) ? 1 : Number.isNaN(b) ? -1 : a - b) * sign;
      return String(a).localeCompare(String(b), "en", { numeric: true }) * sign;
    };
    return [...rows].sort(compare);
  }

  function heads() {
    const [place, direction] = (state[key] || "").split("~");
    return columns.map((column, i) => {
      const head = document.createElement("th"), button = head.appendChild(document.createElement("button"));
      head.scope = "col";
      const isThis = state[key] && Number(place) === i;
      if (isThis) head.setAttribute("aria-sort", direction === "down" ? "descending" : "ascending");
      button.type = "button";
      button.className = "sort";
      button.textContent = column.label + (isThis ? (direction === "down" ? " ↓" : " ↑") : "");
      button.onclick = () => {
        state[key] = `${i}~${isThis && direction !== "down" ? "down" : "up"}`;
        writeState();
        fill();
        element.querySelectorAll("thead button")[i].focus();
      };
      return head;
    });
  }

  function line(row) {
    const line = document.createElement("tr");
    line.classList.toggle("is-chosen", isChosen(row));
    columns.forEach((column, i) => {
      const cell = line.appendChild(document.createElement(i ? "td" : "th"));
      const { text, exact } = column.text(row);
      if (i === 0) {
        cell.scope = "row";
        const button = cell.appendChild(document.createElement("button"));
        button.type = "button";
        button.textContent = text || "all";
        button.onclick = () => { window.ready = open(row); };
      } else {
        cell.textContent = text;
        cell.dataset.label = column.label;
        if (exact !== undefined) cell.title = exact;
      }
    });
    return line;
  }

  function fill() {
    const head = document.createElement("thead"), body = document.createElement("tbody");
    head.appendChild(document.createElement("tr")).append(...heads());
    const all = sorted();
    body.append(...all.slice(0, shownRows).map(line));
    element.replaceChildren(head, body);
    more.hidden = all.length <= shownRows;
    more.textContent = `Show more of ${all.length}`;
  }
  fill();
  return box;
}

const asText = (text) => ({ text: String(text) });
const asNumber = (value, unit) => ({ text: shown(value, unit), exact: Number.isNaN(value) ? undefined : String(value) });

// The table of the points of the picture.
function pointsTable({ points, columns }, view) {
  const { x, y, c, fx, fy } = columns, unit = y.about.unit;
  const placed = [
    { label: x.about.label, get: (p) => p.x, text: (p) => (x.isNumeric ? asNumber(p.x, x.about.unit) : asText(p.x)) },
    c && { label: c.about.label, get: (p) => p.s, text: (p) => asText(p.s) },
    fx && { label: fx.about.label, get: (p) => p.fx, text: (p) => asText(p.fx) },
    fy && { label: fy.about.label, get: (p) => p.fy, text: (p) => asText(p.fy) },
  ];
  const value = (label, key) => ({ label, get: (p) => p[key], text: (p) => asNumber(p[key], unit) });
  const measured = view.a === "runs" ? [value(y.about.label, "y")] : [
    value(view.a, "y"), value("10th percentile", "low"), value("90th percentile", "high"),
    { label: "runs", get: (p) => p.rows.length, text: (p) => asText(p.rows.length) },
    points.some((p) => p.unfinished) && { label: "unfinished", get: (p) => p.unfinished, text: (p) => asText(p.unfinished) },
  ];
  return list(`Points: ${y.about.label}`, [...placed, ...measured].filter(Boolean), points, {
    key: "so", open: (p) => choosePoint(p, true), isChosen: (p) => nameOf(p) === state.p,
  });
}
