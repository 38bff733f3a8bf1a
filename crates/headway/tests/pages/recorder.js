// Run before a page's own scripts: what is written on each canvas since it was cleared, for the checks.
"use strict";
(() => {
  const prototype = CanvasRenderingContext2D.prototype;
  const { fillText, clearRect } = prototype;
  prototype.clearRect = function (...words) {
    this.canvas.labels = [];
    return clearRect.apply(this, words);
  };
  prototype.fillText = function (text, x, y, ...words) {
    const { width, actualBoundingBoxAscent: up, actualBoundingBoxDescent: down } = this.measureText(text);
    const left = x - { left: 0, center: width / 2, right: width }[this.textAlign];
    (this.canvas.labels ??= []).push({
      text, ink: this.fillStyle, left, right: left + width, top: y - up, bottom: y + down,
    });
    return fillText.call(this, text, x, y, ...words);
  };
})();
