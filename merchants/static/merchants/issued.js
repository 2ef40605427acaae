// A page that shows a secret once: a reload leads to where the secret's owner is managed, instead of here.
"use strict";

const panel = document.querySelector("[data-leave-to]");
window.history.replaceState(null, "", panel.dataset.leaveTo);

// A page kept alive for the Back button would still show the secret.
window.addEventListener("pagehide", () => panel.remove());
