// The page that shows a new key: copies it, and makes a reload lead to the key's own page instead of here.
"use strict";

const panel = document.querySelector("[data-leave-to]");
window.history.replaceState(null, "", panel.dataset.leaveTo);

// A page kept alive for the Back button would still show the key.
window.addEventListener("pagehide", () => panel.remove());

for (const button of document.querySelectorAll("[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  const said = button.parentElement.querySelector(".q-said");
  const label = button.textContent;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      said.textContent = "Copied";
      button.textContent = "Copied";
      window.setTimeout(() => {
        button.textContent = label;
        said.textContent = "";
      }, 2500);
    } catch {
      // No clipboard without HTTPS or permission: select it, so that Ctrl-C does.
      const selection = window.getSelection();
      selection.selectAllChildren(source);
      said.textContent = "Selected: press Ctrl-C";
    }
  });
}
