// Numbers for people.

const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];

const rounded = (number, digits) => String(Number(number.toPrecision(digits)));

// A value with its unit. Counts are exact.
function shown(value, unit) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (unit !== "bit/s" && unit !== "B") return unit === "ms" || unit === "s" ? `${rounded(value, 4)} ${unit}` : rounded(value, value < 1000 ? 4 : 12);
  const [scale, prefix] = PREFIXES.find(([scale]) => Math.abs(value) >= scale) ?? [1, ""];
  return `${rounded(value / scale, 3)} ${prefix}${unit}`;
}

// The same at an axis, without the unit.
function tick(value) {
  const [scale, prefix] = PREFIXES.find(([scale]) => Math.abs(value) >= scale) ?? [1, ""];
  return rounded(value / scale, 4) + prefix;
}

// A time in seconds.
function clock(seconds) {
  if (seconds < 600) return `${rounded(seconds, 4)} s`;
  const minutes = Math.floor(seconds / 60), two = (number) => String(number).padStart(2, "0");
  return minutes < 60 ? `${minutes}:${two(Math.floor(seconds % 60))}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(Math.floor(seconds % 60))}`;
}
