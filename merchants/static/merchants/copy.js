// Copy buttons: each names the element whose text it copies.
"use strict";

for (const button of document.querySelectorAll("[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  const said = button.parentElement.querySelector(".q-said");
  const label = button.textContent;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.innerText.trim());
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
