// The two engines: torch behind `nadek play`, and onnxruntime-web in the browser.

export async function engineFor(about, progress) {
  return about.onnx ? inBrowser(about, progress) : atServer();
}

function atServer() {
  return {
    name: "PyTorch, on this machine",
    async logits(codes) {
      const answer = await fetch("logits", { method: "POST", body: codes });
      if (!answer.ok) throw new Error(`the server says: ${answer.statusText}`);
      return new Float32Array(await answer.arrayBuffer());
    },
  };
}

async function inBrowser({ onnx, runtime }, progress) {
  const [ort, wasm, network] = await Promise.all([
    import(new URL(runtime.module, document.baseURI)),
    unzipped(runtime.wasm, progress),
    unzipped(onnx, progress),
  ]);
  ort.env.wasm.wasmBinary = wasm;
  ort.env.wasm.numThreads = 1; // more need headers that a static host may not send
  const session = await ort.InferenceSession.create(new Uint8Array(network), { graphOptimizationLevel: "all" });
  let turn = Promise.resolve(); // a session answers one question at a time
  return {
    name: "onnxruntime-web, in your browser",
    logits(codes, n) {
      const run = async () => {
        const shape = [n, codes.length / n];
        const missing = Uint8Array.from(codes, (code) => Number.isNaN(code));
        const x = codes.map((code) => (Number.isNaN(code) ? 0 : code));
        const { logits } = await session.run({
          x: new ort.Tensor("float32", x, shape),
          missing: new ort.Tensor("bool", missing, shape),
        });
        return logits.data;
      };
      return (turn = turn.then(run, run));
    },
  };
}

// Files are compressed when the site is built, as static hosts compress neither networks nor, often, WebAssembly.
async function unzipped(name, progress) {
  const answer = await fetch(name);
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  let done = 0;
  const counted = new TransformStream({
    transform(part, next) {
      progress?.((done += part.length), name);
      next.enqueue(part);
    },
  });
  const plain = answer.body.pipeThrough(counted).pipeThrough(new DecompressionStream("gzip"));
  return new Response(plain).arrayBuffer();
}
