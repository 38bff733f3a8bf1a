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
  return nanos === 0 ? "0" : (nanos / 1e9).toFixed(digits) + " s";
}

// Units: size, name, and whether round numbers of it are binary.
const SIZES = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const DURATIONS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
const RATES = [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]];

// The largest unit of which `value` has one.
function unitFor(units, value) {
  return units.find(([size]) => value >= size) || units[units.length - 1];
}

// A value in the unit that suits it; zero has none.
function inUnit(units, value, digits) {
  if (value === 0) return "0";
  const [size, name] = unitFor(units, value);
  return trimmed(value / size, digits) + " " + name;
}

// The marks of an axis from `low` to `high`, at most `most`: round numbers of one unit, each with its text.
function marks(units, low, high, most) {
  const [size, name] = unitFor(units, high);
  const step = roundStep((high - low) / size, most);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const list = [];
  for (let n = Math.ceil(low / size / step - 1e-9); n * step * size <= high; n += 1) {
    list.push([n * step * size, n === 0 ? "0" : (n * step).toFixed(digits) + " " + name]);
  }
  return list;
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
