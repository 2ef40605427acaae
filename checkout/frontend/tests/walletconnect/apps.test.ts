import { expect, test } from "vitest";
import { appNamed, APPS, appsFor, pairingLink, requestLink } from "../../src/walletconnect/apps";

const URI = "wc:7f6e504b@2?relay-protocol=irn&symKey=587d5484&expiryTimestamp=1790000000";
const [metamask] = APPS;

test("pairing link carries the whole code", () => {
  const link = new URL(pairingLink(metamask!, URI));
  expect(`${link.origin}${link.pathname}`).toBe("https://link.metamask.io/wc");
  expect(link.searchParams.get("uri")).toBe(URI);
});

test("request link leads to the open request", () => {
  expect(requestLink(metamask!, 1790000000123, "ab12")).toBe("https://link.metamask.io/wc?requestId=1790000000123&sessionTopic=ab12");
});

test("links are of the wallets' own https sites", () => {
  for (const app of APPS) expect(new URL(app.link).protocol).toBe("https:");
});

test("apps are those that pay on a family of the request", () => {
  expect(appsFor(["evm"])).toHaveLength(APPS.length);
  expect(appsFor(["solana"]).map(({ name }) => name)).toEqual(["Trust Wallet"]);
  expect(appsFor(["cosmos"])).toEqual([]);
});

test.each([
  ["MetaMask Wallet", "MetaMask"],
  ["🌈 Rainbow", "Rainbow"],
  ["trust wallet", "Trust Wallet"],
  ["https://evil.example", null],
  ["", null],
])("wallet that calls itself %j has the app %s", (name, app) => {
  expect(appNamed(name)?.name ?? null).toBe(app);
});
