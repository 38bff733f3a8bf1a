// How many choices there are, of how many something is drawn, and how many zoom by the button, the key and the wheel.
(async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const select = document.getElementById("direction"), counts = [0, 0, 0, 0], seen = new Set();
  const canvas = () => [...document.querySelectorAll("#panels canvas")].find((canvas) => canvas.checkVisibility());
  const labels = () => canvas().labels.map((label) => label.text).join(" ");
  for (const option of select.options) {
    select.value = option.value;
    select.onchange();
    await frame();
    const series = canvas().closest("figure").querySelectorAll("ul.legend button").length;
    const picture = canvas().toDataURL();
    counts[0] += series > 0 && canvas().labels.length > 3 && !seen.has(picture);
    seen.add(picture);
    const all = labels();
    const steps = [
      () => document.querySelector("[data-do=in]").click(),
      () => canvas().dispatchEvent(new KeyboardEvent("keydown", { key: "+" })),
      () => canvas().dispatchEvent(new WheelEvent("wheel", { deltaY: -400, cancelable: true })),
    ];
    for (const [place, step] of steps.entries()) {
      step();
      await frame();
      counts[place + 1] += labels() !== all;
      document.querySelector("[data-do=all]").click();
      await frame();
    }
  }
  return [select.options.length, ...counts];
})()
