import { beforeEach, expect, test, vi } from "vitest";
import { Countdown, ServerClock } from "../../src/page/countdown";
import { copy } from "../../src/copy";
import { NOW } from "../fixtures";

const output = document.createElement("p");
const announce = vi.fn();
const onEnd = vi.fn();

function countdown(seconds: number): Countdown {
  const started = new Countdown(output, new ServerClock(new Date(NOW).toISOString()), announce, onEnd);
  started.start(new Date(NOW + seconds * 1000).toISOString());
  return started;
}

beforeEach(() => {
  announce.mockReset();
  onEnd.mockReset();
  // The customer's clock is an hour behind the server's.
  vi.useFakeTimers({ now: NOW - 3_600_000 });
});

test.each([
  [59, "0:59"],
  [3600, "60:00"],
  [3661, copy.hoursAndMinutes(1, 1)],
  [90_000, copy.daysAndHours(1, 1)],
])("%i seconds by the server's clock are shown as %s", (seconds, shown) => {
  countdown(seconds);
  expect(output.textContent).toBe(copy.timeLeft(shown));
});

test("last minutes are marked and announced once each", () => {
  countdown(302);
  expect(output.classList.contains("countdown--soon")).toBe(false);
  vi.advanceTimersByTime(5_000);
  expect(output.classList.contains("countdown--soon")).toBe(true);
  expect(announce.mock.calls).toEqual([[copy.timeLeftSpoken(300)]]);
  vi.advanceTimersByTime(240_000);
  expect(announce).toHaveBeenLastCalledWith(copy.timeLeftSpoken(60));
  expect(announce).toHaveBeenCalledTimes(2);
});

test("last two minutes are also beside the button that pays", () => {
  document.body.insertAdjacentHTML("beforeend", '<span class="pay-bar__time"></span>');
  const beside = document.querySelector(".pay-bar__time");
  const started = countdown(121);
  expect(beside?.textContent).toBe("");
  vi.advanceTimersByTime(1_000);
  expect(beside?.textContent).toBe(copy.timeLeft("2:00"));
  started.stop();
  expect(beside?.textContent).toBe("");
});

test("end is reported once, and the text goes", () => {
  countdown(2);
  vi.advanceTimersByTime(10_000);
  expect(onEnd).toHaveBeenCalledTimes(1);
  expect(output.textContent).toBe("");
});

test("invalid server time leaves the clock as it was", () => {
  const clock = new ServerClock(new Date(NOW).toISOString());
  clock.set("soon");
  expect(clock.now()).toBe(NOW);
});
