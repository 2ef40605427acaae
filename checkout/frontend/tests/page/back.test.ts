import { beforeEach, expect, test, vi } from "vitest";
import { BackButton } from "../../src/page/back";

/** A fake browser history: its entries, and the index of the current one. */
class Visits {
  readonly states: unknown[] = [null];
  place = 0;
  back = vi.fn(() => this.move(-1));

  get state(): unknown {
    return this.states[this.place];
  }

  pushState(state: unknown): void {
    this.states.splice(this.place + 1, this.states.length, state);
    this.place += 1;
  }

  /** Going back from the first entry leads to the previous page. */
  move(by: number): void {
    if (this.place + by < 0) return;
    this.place += by;
    window.dispatchEvent(new PopStateEvent("popstate", { state: this.state }));
  }
}

let visits: Visits;
let depth: number;
let button: BackButton;

function enter(steps: number): void {
  depth = steps;
  button.update();
}

beforeEach(() => {
  visits = new Visits();
  depth = 0;
  vi.stubGlobal("history", visits);
  button = new BackButton({ depth: () => depth, back: () => enter(depth - 1) });
});

test("each step back in the browser is one in the checkout", () => {
  enter(1);
  enter(2);
  visits.move(-1);
  expect(depth).toBe(1);
  visits.move(-1);
  expect([depth, visits.place, visits.back.mock.calls.length]).toEqual([0, 0, 0]);
});

test("redrawn step adds no entry", () => {
  enter(1);
  enter(1);
  expect(visits.states.length).toBe(2);
});

test("several steps at once add an entry each", () => {
  enter(2);
  visits.move(-1);
  expect([depth, visits.place]).toEqual([1, 1]);
});

test("entries of steps that were left by a button are skipped", () => {
  enter(1);
  enter(2);
  enter(0);
  visits.move(-1);
  // The customer is on the first step. Two moves back reach the page before the checkout.
  expect(visits.back).toHaveBeenCalledTimes(2);
});

test("forward button changes nothing", () => {
  enter(1);
  visits.move(-1);
  visits.move(1);
  expect([depth, visits.place, visits.back.mock.calls.length]).toEqual([0, 1, 0]);
});

test("link inside the page changes nothing", () => {
  location.hash = "#scan-heading";
  visits.move(0);
  expect(visits.back).not.toHaveBeenCalled();
  location.hash = "";
});
