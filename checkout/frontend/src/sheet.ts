/** The script of the pages beside the checkout. The script adds the copy buttons. Without it, the pages work too. */

import { byId, enableCopyButtons } from "./dom";

const copied = document.querySelector<HTMLElement>("[data-copied]")?.dataset.copied ?? "";
enableCopyButtons(document.body, copied, (text) => (byId("live").textContent = text));
