/** If a merchant's logo can't be loaded, shows the first letter of the name instead. */

import { el, initial } from "../dom";

export function replaceBrokenLogo(merchant: string): void {
  const logo = document.getElementById("logo") as HTMLImageElement | null;
  if (!logo) return;
  const letter = { class: "merchant__logo merchant__logo--letter", "aria-hidden": "true" };
  const replace = (): void => logo.replaceWith(el("span", letter, initial(merchant)));
  if (logo.complete && logo.naturalWidth === 0) replace();
  logo.addEventListener("error", replace);
}
