/** A list of steps, each done, in progress or to do. */

import { copy } from "../copy";
import { el } from "../dom";

/** `awaited`: the current step, if the network hasn't seen it yet. */
export type StepState = "done" | "current" | "awaited" | "todo";

/** A step has a name, a state and an optional remark; `kind` is the list's CSS classes. */
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
