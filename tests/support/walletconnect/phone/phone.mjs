// The wallet's side of WalletConnect. Each input line (JSON) is an action of its owner. Each output line is a
// request to the wallet or an action's result.

import { createInterface } from "node:readline";
import { SignClient } from "@walletconnect/sign-client";

const [projectId, relayUrl] = process.argv.slice(2);
const metadata = { name: "Rainbow for Tests", description: "A wallet", url: "https://phone.example", icons: [] };
const storageOptions = { database: ":memory:" };
// Requests that an earlier test left without a response must not delay those of the next.
const signConfig = { disableRequestQueue: true };
const settings = { metadata, storageOptions, signConfig, logger: "silent", telemetryEnabled: false };
const client = await SignClient.init({ projectId, relayUrl, ...settings });

const tell = (event, told) => process.stdout.write(`${JSON.stringify({ event, ...told })}\n`);
const reason = { code: 6000, message: "User disconnected." };

client.on("session_proposal", ({ id, params }) => tell("proposal", { id, params }));
client.on("session_request", ({ topic, id, params }) => tell("request", { topic, id, ...params }));
client.on("session_delete", ({ topic }) => tell("ended", { topic }));

const doings = {
  pair: ({ uri }) => client.pair({ uri }),
  approve: async ({ id, namespaces }) => (await client.approve({ id, namespaces })).topic,
  reject: ({ id, code, message }) => client.reject({ id, reason: { code, message } }),
  answer: ({ topic, id, result }) => client.respond({ topic, response: { id, jsonrpc: "2.0", result } }),
  refuse: ({ topic, id, error }) => client.respond({ topic, response: { id, jsonrpc: "2.0", error } }),
  allow: async ({ topic, namespaces }) => (await client.update({ topic, namespaces })).acknowledged(),
  say: ({ topic, chainId, event }) => client.emit({ topic, chainId, event }),
  end: ({ topic }) => client.disconnect({ topic, reason }),
};

createInterface({ input: process.stdin }).on("line", async (line) => {
  const { number, doing, ...given } = JSON.parse(line);
  try {
    tell("done", { number, value: (await doings[doing](given)) ?? null });
  } catch (error) {
    tell("done", { number, error: String(error.message ?? error) });
  }
}).on("close", () => process.exit());
tell("ready", {});
