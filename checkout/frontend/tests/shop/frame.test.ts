import { beforeEach, expect, test, vi } from "vitest";
import { CheckoutFrame, type FrameEvents } from "../../src/shop/frame";
import type { Options } from "../../src/shop/quittance";

const ORIGIN = "https://pay.example";
const URL = `${ORIGIN}/pay/Ab3dEf6hJk9m`;
const status = (name: string, is_busy = false) => ({ quittance: 1, type: "status", payment_request_id: "req_1", status: name, is_busy });

let events: { [Name in keyof FrameEvents]: ReturnType<typeof vi.fn> };
let heard: [string, string | null][];

function frame(options: Partial<Options> = {}): CheckoutFrame {
  const progress = (name: string) => (one: { status: string } | null) => heard.push([name, one?.status ?? null]);
  const all = { paymentUrl: URL, onStatus: progress("status"), onCompleted: progress("completed"), ...options };
  const made = new CheckoutFrame(all, events as unknown as FrameEvents, true);
  // happy-dom loads no frames. This frame gets its own window, so that the code can recognise its messages.
  Object.defineProperty(made.element, "contentWindow", { value: { postMessage: vi.fn() } });
  return made;
}

async function hear(from: CheckoutFrame, data: unknown, different: { origin?: string; source?: unknown } = {}): Promise<void> {
  const sent = { data, origin: ORIGIN, source: from.element.contentWindow, ...different };
  window.dispatchEvent(new MessageEvent("message", sent as MessageEventInit));
  await Promise.resolve();
}

beforeEach(() => {
  heard = [];
  events = { ready: vi.fn(), slow: vi.fn(), refused: vi.fn(), height: vi.fn(), close: vi.fn(), idle: vi.fn() };
});

test.each(["javascript:alert(1)", "data:text/html,x", "", "/pay/Pq2Fz2Mjsun8", undefined])("address %s is rejected", (paymentUrl) => {
  expect(() => frame({ paymentUrl: paymentUrl as string })).toThrow(TypeError);
});

test("each status is reported once, and completion once", async () => {
  const open = frame();
  for (const name of ["active", "active", "processing", "completed", "completed"]) await hear(open, status(name));
  expect(heard).toEqual([["status", "active"], ["status", "processing"], ["status", "completed"], ["completed", "completed"]]);
  expect(events.ready).toHaveBeenCalledTimes(1);
});

test.each([null, 1, "status", {}, { type: "status" }, { quittance: 1 }, { ...status("completed"), quittance: "1" }])(
  "message %j is not the checkout's",
  async (odd) => {
    await hear(frame(), odd);
    expect([heard, events.ready.mock.calls.length]).toEqual([[], 0]);
  },
);

test.each<[string, object]>([
  ["another origin", { origin: "https://evil.example" }],
  ["the shop's own window", { source: window }],
  ["no window", { source: null }],
])("message from %s is ignored", async (_, different) => {
  await hear(frame(), status("completed"), different);
  expect(heard).toEqual([]);
});

test("height, close and the end of a prompt are passed on", async () => {
  const open = frame();
  await hear(open, { quittance: 1, type: "height", height: "640" });
  await hear(open, { quittance: 1, type: "height", height: "tall" });
  await hear(open, { quittance: 1, type: "close" });
  expect(events.height.mock.calls).toEqual([[640], [0]]);
  expect(events.close).toHaveBeenCalledTimes(1);
  await hear(open, status("active", true));
  expect([open.isBusy, events.idle.mock.calls.length]).toEqual([true, 0]);
  await hear(open, status("processing"));
  expect([open.isBusy, events.idle.mock.calls.length]).toEqual([false, 1]);
});

test("function of the shop that throws stops nothing", async () => {
  const failed = vi.fn((error: Error) => error.message);
  process.once("unhandledRejection", failed);
  const open = frame({
    onStatus: () => {
      throw new Error("the shop is broken");
    },
  });
  await hear(open, status("completed"));
  expect(heard).toEqual([["completed", "completed"]]);
  await vi.waitFor(() => expect(failed).toHaveBeenCalledTimes(1));
});

test("stopped frame hears nothing more", async () => {
  const open = frame();
  const { contentWindow } = open.element;
  open.stop();
  await hear(open, status("completed"), { source: contentWindow });
  expect(heard).toEqual([]);
});

test("language of the shop is in the address, the browser's isn't", () => {
  expect(frame({ language: "ar-SA" }).address).toBe(`${URL}?lang=ar`);
  expect(frame({ paymentUrl: `${URL}?lang=ja` }).address).toBe(`${URL}?lang=ja`);
  expect(frame().address).toBe(URL);
});

test("labels of the shop take the place of the script's", () => {
  const { labels } = frame({ labels: { title: "Zahl <b>jetzt</b>" } });
  expect([labels.title, labels.close]).toEqual(["Zahl <b>jetzt</b>", "Close the payment"]);
});
