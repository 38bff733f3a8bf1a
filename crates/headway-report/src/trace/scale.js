"use strict";
// Scales, axes and their labels.

const MARGIN = { left: 64, right: 14, top: 10, bottom: 26 };

// Round steps: 1, 2 or 5 times a power of ten, at most `most` of them in `span`.
function roundStep(span, most) {
  const rough = span / Math.max(1, most);
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const factor = [1, 2, 5, 10].find((f) => f * power >= rough) || 10;
  return factor * power;
}

function trimmed(value, digits) {
  return String(Number(value.toFixed(digits)));
}

// Nanoseconds as seconds, with as many digits as a span of `span` needs.
function timeText(nanos, span) {
  const digits = Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(Math.max(span, 1) / 1e9))));
  return (nanos / 1e9).toFixed(digits) + " s";
}

function sizeText(bytes) {
  if (bytes >= 1e9) return trimmed(bytes / 1e9, 2) + " GB";
  if (bytes >= 1e6) return trimmed(bytes / 1e6, 2) + " MB";
  if (bytes >= 1e4) return trimmed(bytes / 1e3, 1) + " kB";
  return trimmed(bytes, 0) + " B";
}

function durationText(nanos) {
  if (nanos >= 1e9) return trimmed(nanos / 1e9, 3) + " s";
  if (nanos >= 1e6) return trimmed(nanos / 1e6, 2) + " ms";
  return trimmed(nanos / 1e3, 1) + " µs";
}

function rateText(bits) {
  if (bits >= 1e9) return trimmed(bits / 1e9, 2) + " Gbit/s";
  if (bits >= 1e6) return trimmed(bits / 1e6, 2) + " Mbit/s";
  return trimmed(bits / 1e3, 1) + " kbit/s";
}

// The index of the first number of a sorted flat list that is not below `value`; each point has `step`
// numbers.
function firstFrom(list, step, value) {
  let low = 0, high = list.length / step;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle * step] < value) low = middle + 1; else high = middle;
  }
  return low;
}

// Calls `take` with the index of each point between `from` and `to`, and of `extra` on either side.
function eachIn(list, step, from, to, extra, take) {
  const first = Math.max(0, firstFrom(list, step, from) - extra);
  const last = Math.min(list.length / step, firstFrom(list, step, to) + 1 + extra);
  for (let i = first; i < last; i += 1) take(i * step);
}
