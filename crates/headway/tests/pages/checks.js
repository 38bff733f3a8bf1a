// Run in a page: a list of everything that is wrong with how it looks. `details` are checked as they are.
(async () => {
  "use strict";
  const faults = [];
  const fault = (text) => { if (!faults.includes(text)) faults.push(text); };
  const isSeen = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const seen = (selector, within = document) => [...within.querySelectorAll(selector)].filter(isSeen);
  const words = (element) => JSON.stringify(element.textContent.trim().replace(/\s+/g, " ").slice(0, 40));
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  await frame();

  // Something is there.
  const main = document.querySelector("main");
  if (!main || main.innerText.trim().length < 200) fault("the page is empty");
  for (const drawing of seen("svg, canvas")) {
    const { width, height } = drawing.getBoundingClientRect();
    if (width < 8 || height < 8) fault(`a drawing of ${width} x ${height}`);
  }

  // Nothing runs over the right edge of the page.
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) {
    const right = (element) => element.getBoundingClientRect().right;
    const wide = seen("body *:not(svg *)").filter((element) => right(element) > page.clientWidth + 1 && !element.closest(".scroll, pre, svg"));
    fault(`the page is ${page.scrollWidth - page.clientWidth} px too wide: ${wide.slice(0, 3).map((e) => e.tagName + "." + e.className).join(", ")}`);
  }
  // What is cut off scrolls, and shows that it does.
  for (const box of seen("body *:not(svg *)")) {
    const style = getComputedStyle(box);
    if (box.scrollWidth <= box.clientWidth + 1 || !["auto", "scroll"].includes(style.overflowX)) continue;
    if (!style.backgroundAttachment.includes("local")) fault(`cut off without a hint: ${words(box)}`);
    if (box.tabIndex < 0) fault(`cannot be scrolled with keys: ${words(box)}`);
  }
  // On a narrow screen tables are laid out anew.
  if (page.clientWidth <= 640) {
    for (const table of seen("table")) {
      const box = table.closest(".scroll") ?? table;
      if (box.scrollWidth > box.clientWidth + 1) fault(`a table that scrolls on a narrow screen: ${words(table)}`);
    }
  }
  // A page has one scroll bar.
  for (const box of seen("body *:not(svg *)")) {
    if (box.scrollHeight > box.clientHeight + 1 && ["auto", "scroll"].includes(getComputedStyle(box).overflowY)) {
      if (box.tagName !== "SELECT") fault(`a scroll box inside the page: ${words(box)}`);
    }
  }

  // Labels of one drawing do not lie on each other, and lie within the drawing.
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  const labels = (name, list, { width, height }) => {
    list.forEach((one, place) => {
      for (const other of list.slice(place + 1)) {
        if (meet(one, other)) fault(`${name}: "${one.text}" and "${other.text}" overlap`);
      }
      if (one.left < -3 || one.top < -3 || one.right > width + 3 || one.bottom > height + 3) {
        fault(`${name}: "${one.text}" is cut off`);
      }
    });
  };
  const titleOf = (drawing) => drawing.closest("[aria-label]")?.getAttribute("aria-label").slice(0, 60) ?? "drawing";
  for (const drawing of seen("svg")) {
    const box = drawing.getBoundingClientRect();
    const list = [...drawing.querySelectorAll("text")].filter((text) => text.textContent.trim()).map((text) => {
      const { left, right, top, bottom } = text.getBoundingClientRect();
      // A line of text is higher than its letters.
      const room = (bottom - top) * 0.12;
      return {
        text: text.textContent.trim(), left: left - box.left, right: right - box.left,
        top: top - box.top + room, bottom: bottom - box.top - room,
      };
    });
    labels(titleOf(drawing), list, box);
  }
  for (const canvas of seen("canvas")) {
    if (!canvas.labels?.length) fault(`${titleOf(canvas)}: nothing is drawn`);
    labels(titleOf(canvas), canvas.labels ?? [], canvas.getBoundingClientRect());
  }

  // Text stands out from its ground: WCAG 2.2, 1.4.3.
  const parts = (colour) => {
    const numbers = colour.match(/[\d.]+/g).map(Number);
    if (colour.startsWith("#")) throw new Error(`not an rgb colour: ${colour}`);
    return { rgb: numbers.slice(0, 3), alpha: numbers[3] ?? 1 };
  };
  const over = ({ rgb, alpha }, ground) => rgb.map((part, place) => alpha * part + (1 - alpha) * ground[place]);
  const groundOf = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const layer = parts(getComputedStyle(at).backgroundColor);
      layers.push(layer);
      if (layer.alpha === 1) break;
    }
    return layers.reverse().reduce((ground, layer) => over(layer, ground), [255, 255, 255]);
  };
  const opacityOf = (element) => {
    let opacity = 1;
    for (let at = element; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
    return opacity;
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const owners = new Set();
  while (texts.nextNode()) {
    const owner = texts.currentNode.parentElement;
    if (texts.currentNode.data.trim() && isSeen(owner) && !["SCRIPT", "STYLE", "NOSCRIPT"].includes(owner.tagName)) owners.add(owner);
  }
  for (const owner of owners) {
    const style = getComputedStyle(owner), drawing = owner.closest("svg");
    const ground = groundOf(owner);
    const { rgb, alpha } = parts(drawing ? style.fill : style.color);
    const ratio = contrast(over({ rgb, alpha: alpha * opacityOf(owner) }, ground), ground);
    const size = parseFloat(style.fontSize), isBold = Number(style.fontWeight) >= 700;
    const needed = !drawing && (size >= 24 || (isBold && size >= 18.66)) ? 3 : 4.5;
    if (ratio < needed) fault(`contrast ${ratio.toFixed(2)} of ${words(owner)}`);
  }
  const probe = document.createElement("i");
  document.body.append(probe);
  for (const canvas of seen("canvas")) {
    const ground = groundOf(canvas);
    for (const label of canvas.labels ?? []) {
      probe.style.color = label.ink;
      const ratio = contrast(parts(getComputedStyle(probe).color).rgb, ground);
      if (ratio < 4.5) fault(`contrast ${ratio.toFixed(2)} of "${label.text}" in ${titleOf(canvas)}`);
    }
  }
  probe.remove();
  // Letters are never smaller than this.
  for (const text of seen("svg text").filter((text) => text.textContent.trim())) {
    const { height } = text.getBoundingClientRect();
    if (height.toFixed(1) < 11) fault(`${titleOf(text)}: "${text.textContent.trim()}" is ${height.toFixed(1)} px high`);
  }

  // Rows are parted by rules, all of them or none.
  for (const table of seen("table")) {
    const rows = seen("tbody tr", table).slice(1);
    const rule = (row) => Math.max(
      ...[row, ...row.children].map((part) => parseFloat(getComputedStyle(part).borderTopWidth)),
      ...[...row.previousElementSibling?.children ?? []].map((part) => parseFloat(getComputedStyle(part).borderBottomWidth)),
    );
    const without = rows.filter((row) => rule(row) === 0);
    if (without.length > 0 && without.length < rows.length) fault(`no rule above ${words(without[0])}`);
    // No column is empty throughout.
    const body = [...table.querySelectorAll("tbody tr")].filter((row) => ![...row.children].some((cell) => cell.colSpan > 1));
    const heads = [...table.querySelectorAll("thead th, thead td")];
    heads.forEach((head, place) => {
      const cells = body.map((row) => row.children[place]).filter(Boolean);
      if (cells.length && cells.every((cell) => !cell.textContent.trim())) fault(`nothing in the column ${words(head)}`);
    });
  }

  // What a legend names is in the drawing.
  const inks = (part) => ["stroke", "fill"].map((name) => `${name}=${part.getAttribute(name)}`)
    .filter((ink) => !ink.endsWith("=null") && !ink.endsWith("=none"));
  for (const legend of seen("figure ul.legend")) {
    const before = (one, other) => one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING;
    const others = [...legend.closest("figure").querySelectorAll("ul.legend")];
    const earlier = others.filter((other) => before(other, legend)).pop();
    const drawings = [...legend.closest("figure").querySelectorAll(".plot:not(.swatch) > svg")]
      .filter((drawing) => isSeen(drawing) && before(drawing, legend) && (!earlier || before(earlier, drawing)));
    for (const entry of seen("li", legend)) {
      const swatch = entry.querySelector(".swatch svg");
      if (!swatch) continue;
      const wanted = new Set([...swatch.querySelectorAll("*")].filter((part) => part.tagName !== "text").flatMap(inks));
      const isThere = drawings.some((drawing) => {
        const frame = drawing.getBoundingClientRect();
        return [...drawing.querySelectorAll("*")].some((part) => {
          if (part.tagName === "text" || !inks(part).some((ink) => wanted.has(ink))) return false;
          const box = part.getBoundingClientRect();
          const inside = box.right > frame.left && box.left < frame.right && box.bottom > frame.top && box.top < frame.bottom;
          return inside && Math.max(box.width, box.height) >= 1.5;
        });
      });
      if (drawings.length && !isThere) fault(`${titleOf(drawings[0])}: the legend's ${words(entry)} is not drawn`);
    }
  }
  // The same where a click hides a series.
  for (const button of seen("ul.legend button[aria-pressed=true]")) {
    const canvas = button.closest("figure").querySelector("canvas");
    const pixels = () => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const shown = pixels();
    button.click();
    await frame();
    const hidden = pixels();
    button.click();
    await frame();
    if (shown.every((part, place) => part === hidden[place])) fault(`${titleOf(canvas)}: the legend's ${words(button)} is not drawn`);
  }
  // One meaning, one colour.
  const colours = new Map();
  for (const button of seen("ul.legend button")) {
    const colour = getComputedStyle(button.querySelector("i")).backgroundColor, name = button.textContent;
    for (const [other, theirs] of colours) {
      if ((other === name) !== (theirs === colour)) fault(`"${name}" and "${other}": one colour, two meanings, or the reverse`);
    }
    colours.set(name, colour);
  }
  return faults;
})()
