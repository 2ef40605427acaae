import { beforeEach, expect, test, vi } from "vitest";
import type { Client } from "../../src/walletconnect/client";
import { Proposing, type Pairing } from "../../src/walletconnect/pairing";

/** The wallet's decision after it has scanned the code. */
interface Answer {
  resolve: (session: { topic: string }) => void;
  reject: (error: unknown) => void;
}

let answers: Answer[] = [];
let phases: Pairing["phase"][] = [];
const disconnect = vi.fn(async () => undefined);
const connect = vi.fn();

const proposing = (): Proposing =>
  new Proposing({ connect, disconnect } as unknown as Client, {}, ({ phase }) => phases.push(phase));

beforeEach(() => {
  vi.useFakeTimers();
  [answers, phases] = [[], []];
  disconnect.mockClear();
  connect.mockReset().mockImplementation(async () => {
    const decided = new Promise((resolve, reject) => answers.push({ resolve, reject }));
    return { uri: `wc:${answers.length}`, approval: () => decided };
  });
});

test("wallet that scans the code gives its session", async () => {
  const topic = proposing().run();
  await vi.advanceTimersByTimeAsync(0);
  answers[0]?.resolve({ topic: "topic" });
  expect(await topic).toBe("topic");
  expect(phases).toEqual(["opening", "open"]);
});

test("declined code rejects the connection", async () => {
  const topic = proposing().run();
  await vi.advanceTimersByTimeAsync(0);
  answers[0]?.reject({ code: 5000 });
  await expect(topic).rejects.toEqual({ code: 5000 });
});

test("relay that doesn't answer is reported, and tried again", async () => {
  connect.mockReturnValueOnce(new Promise(() => undefined));
  const open = proposing();
  void open.run();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(phases).toEqual(["opening", "unreachable"]);
  await open.renew();
  expect(phases).toEqual(["opening", "unreachable", "opening", "open"]);
});

test("code expires, and a wallet that scanned it late is let go", async () => {
  const open = proposing();
  const topic = open.run();
  await vi.advanceTimersByTimeAsync(290_000);
  expect(phases).toEqual(["opening", "open", "expired"]);
  await open.renew();
  answers[0]?.resolve({ topic: "late" });
  await vi.advanceTimersByTimeAsync(0);
  expect(disconnect).toHaveBeenCalledWith(expect.objectContaining({ topic: "late" }));
  answers[1]?.resolve({ topic: "topic" });
  expect(await topic).toBe("topic");
});

test("wallet that answers after the customer left is let go", async () => {
  const open = proposing();
  void open.run();
  await vi.advanceTimersByTimeAsync(0);
  open.stop();
  answers[0]?.resolve({ topic: "late" });
  await vi.advanceTimersByTimeAsync(290_000);
  expect(disconnect).toHaveBeenCalledWith(expect.objectContaining({ topic: "late" }));
  expect(phases).toEqual(["opening", "open"]);
});
