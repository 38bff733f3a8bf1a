// Whether an experiment that was not run is seen before and after a click on the link to it.
(async () => {
  const link = document.querySelector("details a[href^='#']");
  const part = document.getElementById(link.hash.slice(1));
  const isSeen = () => Number(part.checkVisibility());
  const before = isSeen();
  link.click();
  await new Promise((done) => setTimeout(done, 200));
  return [before, isSeen()];
})()
