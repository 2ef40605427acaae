// The button of a page to print. Without this script, the browser's own menu prints it.
"use strict";

const button = document.querySelector("[data-print]");
button.hidden = false;
button.addEventListener("click", () => window.print());
