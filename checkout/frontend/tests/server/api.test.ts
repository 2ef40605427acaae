import { beforeEach, expect, test, vi } from "vitest";
import { copy } from "../../src/copy";
import { Api, ApiError } from "../../src/server/api";
import { checkout, json, refusal, respond, route, USDC } from "../fixtures";

const waits: (number | null)[] = [];
const api = (): Api => new Api("req_1", (seconds) => waits.push(seconds));

async function errorOf(call: Promise<unknown>): Promise<ApiError> {
  const error: unknown = await call.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

beforeEach(() => {
  waits.length = 0;
  vi.useFakeTimers();
});

test("unchanged state is requested by its ETag and returned as null", async () => {
  const calls = respond(json(checkout(), 200, { ETag: '"1"' }), json(null, 304));
  const client = api();
  expect((await client.checkout())?.id).toBe("req_1");
  expect(await client.checkout()).toBeNull();
  expect(calls.mock.calls[1]?.[1].headers).toEqual({ "If-None-Match": '"1"' });
});

test("token outside the catalogue is sent by its address", async () => {
  const calls = respond(json({ routes: [] }), json({ routes: [] }));
  await api().routes("0x1", 1, USDC);
  await api().routes("0x1", 1, { ...USDC, id: null });
  const bodies = calls.mock.calls.map(([, init]) => JSON.parse(init.body));
  expect(bodies[0].token_id).toBe(1);
  expect(bodies[1].token_address).toBe(USDC.contract_address);
});

test.each([429, 503])("short wait after %i is followed by another try", async (status) => {
  respond(refusal(status, "node_unavailable", "", { "Retry-After": "7" }), json({ routes: [route()] }));
  const answer = api().routes("0x1", 1, USDC);
  await vi.advanceTimersByTimeAsync(6_999);
  expect(waits).toEqual([7]);
  await vi.advanceTimersByTimeAsync(1);
  expect((await answer).routes).toHaveLength(1);
  expect(waits).toEqual([7, null]);
});

test.each([
  [["30"], 30],
  [["6", "6"], 6],
])("waits of %s seconds are too long for the page", async (waitsAsked, last) => {
  respond(...waitsAsked.map((seconds) => refusal(503, "node_unavailable", "", { "Retry-After": seconds })));
  const failed = errorOf(api().buildTransaction("route_1"));
  await vi.advanceTimersByTimeAsync(20_000);
  expect((await failed).retryAfterSeconds).toBe(last);
});

test("server that says to retry at once is called after growing pauses", async () => {
  const calls = respond(...Array.from({ length: 30 }, () => refusal(503, "busy", "", { "Retry-After": "0" })));
  const failed = errorOf(api().buildTransaction("route_1"));
  await vi.advanceTimersByTimeAsync(10_000);
  expect((await failed).code).toBe("busy");
  expect(waits.filter((wait) => wait !== null)).toEqual([1, 2, 4]);
  expect(calls).toHaveBeenCalledTimes(4);
});

test("hash is submitted once, and its caller decides about retries", async () => {
  const calls = respond(refusal(503, "node_unavailable", "", { "Retry-After": "1" }));
  const error = await errorOf(api().submit({ transaction_hash: "0x1", chain_id: 1 }));
  expect([error.isTemporary, calls.mock.calls.length]).toEqual([true, 1]);
});

test("lost connection and timeout are the same error", async () => {
  respond(null);
  expect((await errorOf(api().checkout())).message).toBe(copy.errors.unreachable);
  vi.stubGlobal("fetch", (_: string, { signal }: RequestInit) => new Promise((__, fail) => signal?.addEventListener("abort", fail)));
  const late = errorOf(api().checkout());
  await vi.advanceTimersByTimeAsync(20_000);
  expect((await late).status).toBe(0);
});

test("timeout covers a body that never ends", async () => {
  const stalled = vi.fn(async (_: string, { signal }: RequestInit) => {
    const body = new ReadableStream({ start: (controller) => signal?.addEventListener("abort", () => controller.error(signal.reason)) });
    return new Response(body, { status: 200 });
  });
  vi.stubGlobal("fetch", stalled);
  const late = errorOf(api().checkout());
  await vi.advanceTimersByTimeAsync(20_000);
  expect([(await late).status, stalled.mock.calls.length]).toEqual([0, 1]);
});

test.each([
  ["no JSON", new Response("<h1>Bad gateway</h1>", { status: 502 }), 502],
  ["an empty success", new Response("", { status: 200 }), 502],
  ["an error without a code", json({ error: 7 }, 500), 500],
  ["a firewall's page", new Response("<h1>Forbidden</h1>", { status: 403 }), 403],
  ["a proxy's error without a request id", json({ error: { code: "403", message: "Forbidden" } }, 403), 403],
])("response with %s is a temporary error", async (_, response, status) => {
  respond(response);
  const error = await errorOf(api().checkout());
  expect([error.status, error.code, error.message, error.isTemporary]).toEqual([status, "unknown", copy.errors.server, true]);
});

test.each([
  [400, false],
  [404, false],
  [409, false],
  [408, true],
  [429, true],
  [500, true],
])("status %i: whether it is temporary is %s", (status, expected) => {
  expect(new ApiError(status, "x", "", null).isTemporary).toBe(expected);
});

test.each([
  ["soon", null],
  ["-1", null],
  ["3", 3],
])("Retry-After %s is read as %s", async (header, seconds) => {
  respond(refusal(409, "route_expired", "", { "Retry-After": header }));
  expect((await errorOf(api().checkApproval("route_1"))).retryAfterSeconds).toBe(seconds);
});
