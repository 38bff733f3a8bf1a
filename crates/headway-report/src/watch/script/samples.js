// What the program has told: sources (runs, directions, peers) with their samples.

"use strict";
const feed = { session: null, description: null, limits: null, sources: new Map(), events: 0 };

// Called with what is new. `onStart`: the description is there.
function follow({ onStart, onChange, onState }) {
  const stream = new EventSource("events");
  stream.addEventListener("start", ({ data }) => {
    const { session, limits, description } = JSON.parse(data);
    // Another program listens here now: what this page knows is not of it.
    if (feed.session !== null && feed.session !== session) { location.reload(); return; }
    const isFirst = feed.session === null;
    Object.assign(feed, { session, limits, description });
    onState("Running.", false);
    if (isFirst) onStart();
  });
  stream.addEventListener("items", ({ data }) => {
    let finished = null;
    for (const [kind, ...words] of JSON.parse(data)) finished = HANDLERS[kind]?.(...words) ?? finished;
    feed.events += 1;
    if (finished !== null) {
      stream.close();
      onState(finished, false);
    }
    onChange();
  });
  stream.onerror = () => {
    const isClosed = stream.readyState === EventSource.CLOSED;
    onState(isClosed ? "The program does not answer: load the page anew." : "The connection to the program is lost; trying again.", true);
  };
}

const HANDLERS = {
  begin(id, { group, label }) {
    if (!feed.sources.has(id)) feed.sources.set(id, { id, group, label, note: null, columns: [] });
    while (feed.sources.size > feed.limits.sources && forgetOne());
  },
  sample(id, values) {
    const source = feed.sources.get(id);
    if (!source) return;
    values.forEach((value, place) => (source.columns[place] ??= []).push(value));
    thin(source);
  },
  end(id, note) {
    const source = feed.sources.get(id);
    if (source) source.note = note;
  },
  progress(text) { feed.progress = text; },
  finish: (text) => text,
};

// The page keeps no more than twice what the program keeps: every second of the older half goes.
function thin(source) {
  const count = source.columns[0].length;
  if (count < 2 * feed.limits.samples) return;
  source.columns = source.columns.map((column) => column.filter((_, place) => place >= count / 2 || place % 2 === 0));
}

// As the program does: the oldest that is over, of the group that has most.
function forgetOne() {
  const over = [...feed.sources.values()].filter((source) => source.note !== null);
  const counts = new Map();
  for (const { group } of over) counts.set(group, (counts.get(group) ?? 0) + 1);
  const most = Math.max(...counts.values());
  const oldest = over.find(({ group }) => counts.get(group) === most);
  return oldest !== undefined && feed.sources.delete(oldest.id);
}

const timesOf = (source) => source.columns[0] ?? [];

// A line of a picture: the value itself, or the rate at which a count of bytes grows, over `window` seconds of its time at least.
function lineOf(source, { value, is_bit_rate: isBitRate }, window) {
  const times = timesOf(source), values = source.columns[value + 1] ?? [];
  if (!isBitRate) return values;
  let from = 0;
  return values.map((now, place) => {
    while (from + 1 < place && times[place] - times[from + 1] >= window(times[place])) from += 1;
    const seconds = times[place] - times[from];
    // Where the counts were begun anew, nothing is known.
    return seconds > 0 && now >= values[from] ? ((now - values[from]) * 8) / seconds : null;
  });
}
