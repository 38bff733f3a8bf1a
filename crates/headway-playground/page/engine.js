// The simulator: in the worker of the page, and in node for the tests. A request is an object, an answer is JSON.
function engine(bytes) {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {});
  return (request) => {
    const text = new TextEncoder().encode(JSON.stringify(request));
    const place = exports.request(text.length);
    if (place === 0) throw new Error("the request is too long");
    new Uint8Array(exports.memory.buffer, place, text.length).set(text);
    const length = exports.race();
    // The memory may have moved.
    const answer = new Uint8Array(exports.memory.buffer, exports.answer(), length);
    return new TextDecoder().decode(answer);
  };
}
