// Copy buttons: each carries the text that it copies, or names the element that does.
"use strict";

for (const button of document.querySelectorAll("[data-copy-text]")) {
  const said = button.parentElement.querySelector(".q-said");
  const icon = button.querySelector(".material-symbols-outlined");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copyText);
      said.textContent = "Copied";
      icon.textContent = "check";
      window.setTimeout(() => {
        said.textContent = "";
        icon.textContent = "content_copy";
      }, 2500);
    } catch {
      // No clipboard without HTTPS or permission: select the text for Ctrl-C.
      window.getSelection().selectAllChildren(button.previousElementSibling);
      said.textContent = "Selected: press Ctrl-C";
    }
  });
}

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
