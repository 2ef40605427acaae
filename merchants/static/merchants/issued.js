// A page that shows a secret once. A reload opens the page of the secret's owner instead.
"use strict";

const panel = document.querySelector("[data-leave-to]");
window.history.replaceState(null, "", panel.dataset.leaveTo);

// A page kept alive for the Back button would still show the secret.
window.addEventListener("pagehide", () => panel.remove());
