/** A list of steps: what is done, what is under way, what is to come. */

import { copy } from "../copy";
import { el } from "../dom";

/** `awaited` is the step the payment is at, of which nothing has been seen yet. */
export type StepState = "done" | "current" | "awaited" | "todo";

/** Each step is its name, its state and, where there is one, a remark under it; `kind` is classes of the list. */
export function stepList(steps: [string, StepState, string?][], kind = ""): HTMLElement {
  const spoken = { done: copy.done, current: copy.inProgress, awaited: copy.notYet, todo: copy.notYet };
  const items = steps.map(([text, state, remark]) => {
    const isCurrent = state === "current" || state === "awaited";
    const attributes = { class: `step step--${state}`, ...(isCurrent ? { "aria-current": "step" } : {}) };
    return el(
      "li",
      attributes,
      el("span", {}, text),
      el("span", { class: "hidden-text" }, ` (${spoken[state]})`),
      remark ? el("small", { class: "step__remark" }, remark) : null,
    );
  });
  return el("ol", { class: `steps ${kind}`.trim() }, ...items);
}
