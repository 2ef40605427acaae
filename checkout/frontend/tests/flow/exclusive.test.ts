import { beforeEach, expect, test, vi } from "vitest";
import { Exclusive } from "../../src/flow/exclusive";
import { locks } from "../fixtures";

const done = async (): Promise<void> => undefined;

/** Work that lasts until `end` is called. */
function lasting(): { work: () => Promise<void>; end: () => void } {
  let end = (): void => undefined;
  const until = new Promise<void>((resolve) => (end = resolve));
  return { work: () => until, end };
}

beforeEach(() => vi.stubGlobal("navigator", { locks: locks() }));

test("second tab is kept out until the first has finished", async () => {
  const [here, there] = [new Exclusive("req_1"), new Exclusive("req_1")];
  const { work, end } = lasting();
  const first = here.run(work);
  await vi.waitFor(async () => expect(await there.run(done)).toBe(false));
  end();
  expect(await first).toBe(true);
  await vi.waitFor(async () => expect(await there.run(done)).toBe(true));
});

test("same tab may start again, and keeps the others out until both end", async () => {
  const [here, there] = [new Exclusive("req_1"), new Exclusive("req_1")];
  const [left, next] = [lasting(), lasting()];
  const first = here.run(left.work);
  await vi.waitFor(async () => expect(await there.run(done)).toBe(false));
  const second = here.run(next.work);
  left.end();
  await first;
  expect(await there.run(done)).toBe(false);
  next.end();
  await second;
  await vi.waitFor(async () => expect(await there.run(done)).toBe(true));
});

test("another request's prompt keeps no tab out", async () => {
  const { work } = lasting();
  void new Exclusive("req_1").run(work);
  expect(await new Exclusive("req_2").run(done)).toBe(true);
});

test("work that fails lets the next tab in", async () => {
  await expect(new Exclusive("req_1").run(() => Promise.reject(new Error("x")))).rejects.toThrow("x");
  await vi.waitFor(async () => expect(await new Exclusive("req_1").run(done)).toBe(true));
});

test.each([
  ["has none", {}],
  ["forbids them", { locks: { request: () => Promise.reject(new DOMException("", "SecurityError")) } }],
])("browser that %s runs the work", async (_, navigator) => {
  vi.stubGlobal("navigator", navigator);
  const work = vi.fn(done);
  expect(await new Exclusive("req_1").run(work)).toBe(true);
  expect(work).toHaveBeenCalledTimes(1);
});
