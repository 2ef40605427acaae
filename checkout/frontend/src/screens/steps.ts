/** A list of steps. Each is done, in progress or to do. */

import { copy } from "../copy";
import { el } from "../dom";

/** `awaited`: the current step if the network hasn't seen the transaction yet. */
export type StepState = "done" | "current" | "awaited" | "todo";

/** Draws the steps. Each has a name, a state and an optional remark. `kind` are CSS classes of the list. */
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
