/** The pages beside the checkout work without a script; this one adds the copy buttons. */

import { byId, enableCopyButtons } from "./dom";

const copied = document.querySelector<HTMLElement>("[data-copied]")?.dataset.copied ?? "";
enableCopyButtons(document.body, copied, (text) => (byId("live").textContent = text));
