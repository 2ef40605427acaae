import { beforeEach, expect, test, vi } from "vitest";
import { Api } from "../../src/server/api";
import { StatusPoll } from "../../src/server/status";
import type { Checkout } from "../../src/server/types";
import { checkout, json, refusal, respond } from "../fixtures";

const onChange = vi.fn<(next: Checkout) => void>();
const onConnection = vi.fn<(isUp: boolean) => void>();

class Stream extends EventTarget {
  static readonly OPEN = 1;
  static readonly CLOSED = 2;
  static opened: Stream[] = [];
  readyState = Stream.OPEN;

  constructor(readonly url: string) {
    super();
    Stream.opened.push(this);
  }

  close(): void {
    this.readyState = Stream.CLOSED;
  }

  push(next: Checkout): void {
    this.dispatchEvent(new MessageEvent("update", { data: JSON.stringify(next), lastEventId: '"2"' }));
  }
}

function poll(first: Checkout = checkout(), stream: string | null = null): StatusPoll {
  const started = new StatusPoll(new Api("req_1"), first, stream, onChange, onConnection);
  started.start();
  return started;
}

const FINAL = checkout({ status: "cancelled", is_final: true, poll_in_ms: 60_000 });

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Stream);
  Stream.opened = [];
  onChange.mockReset();
  onConnection.mockReset();
});

test("state is polled at the interval that the server recommends", async () => {
  const calls = respond(json(checkout({ poll_in_ms: 5_000 })), json(checkout()));
  poll();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(calls).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(4_999);
  expect(calls).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(calls).toHaveBeenCalledTimes(2);
});

test("final request is polled too, and a late payment is shown", async () => {
  respond(json(checkout({ is_final: false })));
  poll(FINAL);
  await vi.advanceTimersByTimeAsync(59_999);
  expect(onChange).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(onChange).toHaveBeenCalledTimes(1);
});

test("failures slow polling down; the third is shown, and the return", async () => {
  const calls = respond(null, null, null, json(checkout()));
  poll();
  await vi.advanceTimersByTimeAsync(2_000 + 4_000);
  expect([calls.mock.calls.length, onConnection.mock.calls.length]).toEqual([2, 0]);
  await vi.advanceTimersByTimeAsync(8_000);
  expect(onConnection.mock.calls).toEqual([[false]]);
  await vi.advanceTimersByTimeAsync(16_000);
  expect(onConnection.mock.calls).toEqual([[false], [true]]);
});

test("pause is at least as long as the server says", async () => {
  const calls = respond(refusal(429, "rate_limited", "", { "Retry-After": "40" }), json(checkout()));
  poll();
  await vi.advanceTimersByTimeAsync(2_000 + 39_999);
  expect(calls).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(calls).toHaveBeenCalledTimes(2);
});

test("browser that goes offline is reported at once", () => {
  poll();
  window.dispatchEvent(new Event("offline"));
  window.dispatchEvent(new Event("offline"));
  expect(onConnection.mock.calls).toEqual([[false]]);
});

test("stream brings updates, and polling only checks it", async () => {
  const calls = respond(json(null, 304));
  poll(checkout(), "/events");
  Stream.opened[0]?.push(checkout({ status: "completed" }));
  expect(onChange.mock.calls[0]?.[0].status).toBe("completed");
  await vi.advanceTimersByTimeAsync(14_999);
  expect(calls).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(calls.mock.calls[0]?.[1].headers).toEqual({ "If-None-Match": '"2"' });
});

test("update by the stream wins over an older response", async () => {
  let respondLate = (_: Response): void => undefined;
  vi.stubGlobal("fetch", () => new Promise<Response>((resolve) => (respondLate = resolve)));
  poll(checkout(), "/events").now();
  Stream.opened[0]?.push(checkout({ status: "completed" }));
  respondLate(json(checkout()));
  await vi.advanceTimersByTimeAsync(0);
  expect(onChange.mock.calls.map(([{ status }]) => status)).toEqual(["completed"]);
});

test.each(["the stream", "a poll"])("state from %s wins over an older refresh", async (source) => {
  const late: ((_: Response) => void)[] = [];
  const calls = vi.fn((_: string, __: RequestInit) => new Promise<Response>((resolve) => late.push(resolve)));
  vi.stubGlobal("fetch", calls);
  const running = poll(checkout(), "/events");
  const refreshed = running.refresh();
  const paid = checkout({ status: "completed" });
  if (source === "the stream") {
    Stream.opened[0]?.push(paid);
  } else {
    running.now();
    late.splice(1).forEach((resolve) => resolve(json(paid, 200, { ETag: '"2"' })));
    await vi.advanceTimersByTimeAsync(0);
  }
  late.splice(0).forEach((resolve) => resolve(json(checkout())));
  await vi.advanceTimersByTimeAsync(0);
  expect(onChange.mock.calls.map(([{ status }]) => status)).toEqual(["completed"]);

  late.splice(0).forEach((resolve) => resolve(json(paid)));
  await refreshed;
  expect(onChange.mock.calls.map(([{ status }]) => status)).toEqual(["completed", "completed"]);
});

test("poll after a refresh requests the state even if unchanged", async () => {
  let respondLate = (_: Response): void => undefined;
  const calls = vi.fn((_: string, __: RequestInit) => new Promise<Response>((resolve) => (respondLate = resolve)));
  vi.stubGlobal("fetch", calls);
  const running = poll(checkout(), "/events");
  Stream.opened[0]?.push(checkout({ is_test: true }));
  const refreshed = running.refresh();
  respondLate(json(checkout({ is_available: false })));
  await refreshed;
  running.now();
  expect(calls.mock.calls[1]?.[1].headers).toEqual({});
});

test("late response to a poll does not undo a refresh", async () => {
  const late: ((_: Response) => void)[] = [];
  const calls = vi.fn((_: string, __: RequestInit) => new Promise<Response>((resolve) => late.push(resolve)));
  vi.stubGlobal("fetch", calls);
  const running = poll();
  running.now();
  const refreshed = running.refresh();
  late[1]?.(json(checkout({ status: "completed" })));
  await refreshed;
  late[0]?.(json(checkout(), 200, { ETag: '"1"' }));
  await vi.advanceTimersByTimeAsync(0);
  expect(onChange.mock.calls.map(([{ status }]) => status)).toEqual(["completed"]);
  expect([calls.mock.calls.length, calls.mock.calls[2]?.[1].headers]).toEqual([3, {}]);
});

test("final request has no stream; a page that asks again does", () => {
  const final = poll(FINAL, "/events");
  expect(Stream.opened).toHaveLength(0);
  respond(json(FINAL));
  final.now();
  expect(Stream.opened).toHaveLength(1);
});
