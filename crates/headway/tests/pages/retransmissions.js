// How many pixels have the colour of retransmissions: among all that is drawn, and alone.
(async () => {
  const canvas = document.querySelector("canvas"), figure = canvas.closest("figure");
  const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const named = (name) => [...figure.querySelectorAll("ul.legend button")].filter((button) => (button.textContent === name));
  const [own] = named("retransmitted");
  const ink = getComputedStyle(own.querySelector("i")).backgroundColor.match(/\d+/g).map(Number);
  const count = () => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let number = 0;
    for (let i = 0; i < data.length; i += 4) number += data[i + 3] > 200 && ink.every((part, place) => Math.abs(part - data[i + place]) < 24);
    return number;
  };
  await frame();
  const among = count();
  for (const button of figure.querySelectorAll("ul.legend button")) if (button !== own && button.textContent !== "window") button.click();
  await frame();
  const alone = count();
  return [among, alone];
})()
