// A fake service on loopback, which returns the responses that a test has queued, and records the requests.
import { once } from "node:events";
import { createServer } from "node:http";

export const KEY = `quitt_${"0123456789".repeat(4)}`;

/**
 * Starts a server. Each call gets the next response, and all later calls get the last one. A response is `[status,
 * body, headers]`, or a function that gets Node's response object.
 */
export async function service(t, ...answers) {
  const calls = [];
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      calls.push({
        method: request.method,
        url: request.url,
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      });
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (typeof answer === "function") return answer(response);
      const [status, body, headers = {}] = answer;
      response.writeHead(status, { "Content-Type": "application/json", ...headers });
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${server.address().port}`, calls };
}

/** A response in the format of the API's errors. */
export function refusal(status, type, code, more = {}, headers = {}) {
  const error = { type, code, message: `It is ${code}.`, param: null, request_id: "req_1", details: [], ...more };
  return [status, { error }, headers];
}
