// A private Solana chain: Surfnet, behind a proxy. Surfnet chooses its own ports and rejects batches of calls. The proxy
// listens on a fixed port, and accepts batches, as real nodes do.
//
// node surfnet.js PORT SLOT_MS. The working directory must contain node_modules with Surfnet's package.
"use strict";

const http = require("node:http");

const DRAIN_MS = 20; // undrained events make Surfnet stop answering after a few hundred transactions
const AT_ONCE = 16;
const MOST_BYTES = 4 * 1024 * 1024;

const { Surfnet } = load();
const [port, slotTimeMs] = process.argv.slice(2).map(Number);
const surfnet = Surfnet.startWithConfig({ offline: true, blockProductionMode: "clock", slotTimeMs });
const draining = setInterval(() => surfnet.drainEvents(), DRAIN_MS);
const upstream = new URL(surfnet.rpcUrl);
const kept = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });

const door = http.createServer(answer).listen(port, "127.0.0.1");
door.keepAliveTimeout = 60_000;
process.on("SIGTERM", stop);
process.on("SIGINT", stop);

function load() {
  const platform = process.platform === "linux" ? `linux-${process.arch}-gnu` : `${process.platform}-${process.arch}`;
  return require(require.resolve(`@solana/surfpool-${platform}`, { paths: [process.cwd()] }));
}

function answer(request, response) {
  const chunks = [];
  let bytes = 0;
  request.on("data", (chunk) => {
    bytes += chunk.length;
    if (bytes <= MOST_BYTES) chunks.push(chunk);
  });
  request.on("end", async () => {
    try {
      if (request.method === "OPTIONS") return send(response, 204, "");
      if (bytes > MOST_BYTES) return send(response, 413, "");
      send(response, 200, await ask(Buffer.concat(chunks)));
    } catch (error) {
      send(response, 502, JSON.stringify({ error: String(error) }));
    }
  });
}

async function ask(body) {
  let calls;
  try {
    calls = JSON.parse(body.toString());
  } catch {
    return one(body);
  }
  if (!Array.isArray(calls)) return one(body);
  const answers = new Array(calls.length);
  let next = 0;
  const worker = async () => {
    while (next < calls.length) {
      const place = next++;
      answers[place] = await one(Buffer.from(JSON.stringify(calls[place])));
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, calls.length) }, worker));
  return `[${answers.join(",")}]`;
}

function one(body) {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json", "Content-Length": body.length };
    const { hostname, port } = upstream;
    const call = http.request({ hostname, port, method: "POST", path: "/", headers, agent: kept }, (answer) => {
      const chunks = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.on("end", () => resolve(Buffer.concat(chunks).toString().trim()));
      answer.on("error", reject);
    });
    call.on("error", reject);
    call.end(body);
  });
}

function send(response, status, text) {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(text);
}

function stop() {
  clearInterval(draining);
  door.close();
  try {
    surfnet.stop();
  } catch {
    // The chain ends with the process.
  }
  process.exit(0);
}
