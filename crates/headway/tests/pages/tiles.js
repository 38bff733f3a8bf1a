new Promise((done) => {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas"), edge = 30;
    canvas.width = image.width;
    canvas.height = image.height;
    const c = canvas.getContext("2d");
    c.drawImage(image, 0, 0);
    let drawn = 0, all = 0;
    for (let x = 0; x + edge <= image.width; x += edge) {
      for (let y = 0; y + edge <= image.height; y += edge) {
        const pixels = new Uint32Array(c.getImageData(x, y, edge, edge).data.buffer);
        all += 1;
        drawn += pixels.some((pixel) => pixel !== pixels[0]);
      }
    }
    done(drawn / all);
  };
  image.src = "data:image/png;base64,PICTURE";
})
