// How many terms there are, and of how many a hover, a tap and a key shows an explanation.
(async () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
  const terms = [...document.querySelectorAll("button.term")];
  const isOpen = (term) => {
    const part = document.getElementById(term.getAttribute("popovertarget"));
    const { left, right, top, bottom } = part.getBoundingClientRect();
    const isInside = left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight;
    return part.matches(":popover-open") && isInside && part.textContent.length > 40;
  };
  let hovered = 0, tapped = 0, withKeys = 0;
  for (const term of terms) {
    hovered += term.title.length > 40;
    term.click();
    tapped += isOpen(term);
    term.click();
    // Enter and Space press whatever button has the focus.
    term.focus();
    withKeys += document.activeElement === term && term.tabIndex >= 0 && term.tagName === "BUTTON";
  }
  return [terms.length, hovered, tapped, withKeys];
})()
