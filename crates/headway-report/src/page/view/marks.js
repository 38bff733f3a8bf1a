// How points are drawn: segments, steps, dots and letters.

// `list` holds time, low, high for each segment.
function drawSegments(pen, list, kind) {
  const { c, x, y, view } = pen;
  c.strokeStyle = c.fillStyle = pen.ink(kind.ink);
  const seen = firstFrom(list, 3, view.to) - firstFrom(list, 3, view.from);
  const isSparse = seen < (pen.right - MARGIN.left) / 4;
  c.lineWidth = kind.width;
  c.beginPath();
  eachIn(list, 3, view.from, view.to, 0, (i) => {
    const at = x(list[i]), middle = (y(list[i + 1]) + y(list[i + 2])) / 2;
    const half = Math.max(y(list[i + 1]) - y(list[i + 2]), kind.least) / 2;
    const top = middle - half, bottom = middle + half;
    c.moveTo(at, bottom);
    c.lineTo(at, top);
    // Arrowheads if there is room.
    if (isSparse && bottom - top > 8) {
      c.moveTo(at - 3, top + 3); c.lineTo(at, top); c.lineTo(at + 3, top + 3);
      c.moveTo(at - 3, bottom - 3); c.lineTo(at, bottom); c.lineTo(at + 3, bottom - 3);
    }
  });
  c.stroke();
  if (!kind.mark) return;
  c.fillStyle = pen.ink(kind.letters || kind.ink);
  eachIn(list, 3, view.from, view.to, 0, (i) => {
    const middle = (y(list[i + 1]) + y(list[i + 2])) / 2;
    const half = Math.max(y(list[i + 1]) - y(list[i + 2]), kind.least) / 2;
    writeLetter(pen, kind.mark, x(list[i]), middle - half - 4);
  });
}

// Writes a letter above a point, unless another one is there: letters that overlap are unreadable.
function writeLetter(pen, letter, at, bottom) {
  const box = { left: at - 5, right: at + 5, top: bottom - 10, bottom: bottom + 1 };
  const meets = (other) => box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom;
  if (box.top < MARGIN.top - 2 || pen.letters.some(meets)) return;
  pen.letters.push(box);
  pen.c.textAlign = "center";
  pen.c.fillText(letter, at, bottom);
}

// A step function over time: each value lasts until the next one, the last until `end`.
function drawSteps(pen, list, step, offset, ink, width, end = pen.data.end) {
  const { c, x, y, view } = pen;
  c.strokeStyle = pen.ink(ink);
  c.lineWidth = width;
  c.beginPath();
  let before = null;
  eachIn(list, step, view.from, view.to, 1, (i) => {
    const at = x(list[i]), value = y(list[i + offset]);
    if (before === null) c.moveTo(at, value);
    else { c.lineTo(at, before); c.lineTo(at, value); }
    before = value;
  });
  if (before !== null) c.lineTo(x(Math.min(view.to, end)), before);
  c.stroke();
}

function drawDots(pen, list, ink, shape) {
  const { c, x, y, view } = pen;
  c.fillStyle = c.strokeStyle = pen.ink(ink);
  c.lineWidth = 1.5;
  eachIn(list, 2, view.from, view.to, 0, (i) => {
    const at = x(list[i]), value = y(list[i + 1]);
    c.beginPath();
    if (shape === "diamond") {
      // Hollow, so that the retransmission within is seen.
      c.moveTo(at, value - 6); c.lineTo(at + 6, value); c.lineTo(at, value + 6); c.lineTo(at - 6, value);
      c.closePath();
      c.stroke();
    } else if (shape === "tick") {
      c.moveTo(at, value); c.lineTo(at, value + 6);
      c.stroke();
    } else if (shape === "Z") {
      writeLetter(pen, "Z", at, value - 4);
    } else {
      c.arc(at, value, 2, 0, 7);
      c.fill();
    }
  });
}

// The minimum and maximum of some numbers of the visible points.
function span(view, parts) {
  let low = Infinity, high = -Infinity;
  for (const [list, step, offsets, extra] of parts) {
    eachIn(list, step, view.from, view.to, extra, (i) => {
      for (const offset of offsets) {
        const value = list[i + offset];
        if (value < low) low = value;
        if (value > high) high = value;
      }
    });
  }
  return low > high ? null : [low, high];
}
