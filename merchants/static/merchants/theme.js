// Shows how the checkout's header and button will look while the theme is being typed, and how readable it is.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const preview = document.getElementById("theme-preview");
  if (!preview) return;
  const said = document.getElementById("theme-said");
  const logo = preview.querySelector("img");
  const letter = preview.querySelector(".q-theme-letter");
  const OWN_ACCENT = "#1f2a44";
  const OWN_PAGE = "#f4f4f2";
  const COLOUR = /^#[0-9a-f]{6}$/i;

  const typed = (field, kept) => {
    const input = document.getElementById(`id_${field}`);
    return input ? input.value.trim() : kept;
  };

  // The same calculation as in merchants/contrast.py, which checks the colour on saving (WCAG 2.2, relative luminance).
  const luminance = (colour) => {
    const [red, green, blue] = [1, 3, 5].map((start) => {
      const channel = parseInt(colour.slice(start, start + 2), 16) / 255;
      return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const readable = (colour) => (contrast(colour, "#000000") > contrast(colour, "#ffffff") ? "#000000" : "#ffffff");

  const showLogo = (text) => {
    let address = null;
    try {
      address = new URL(text);
    } catch {
      // The field is empty, or the URL is incomplete.
    }
    const schemes = "allowHttp" in preview.dataset ? ["https:", "http:"] : ["https:"];
    const usable = address && schemes.includes(address.protocol) && !address.username && !address.password;
    logo.hidden = true;
    letter.hidden = false;
    if (!usable) {
      logo.removeAttribute("src");
    } else if (logo.src === address.href && logo.complete && logo.naturalWidth) {
      reveal();
    } else {
      logo.src = address.href;
    }
  };
  const reveal = () => {
    logo.hidden = false;
    letter.hidden = true;
  };
  logo.addEventListener("load", reveal);

  const show = () => {
    const name = typed("display_name", "") || typed("name", preview.dataset.name) || preview.dataset.name || "Merchant";
    const accentTyped = typed("accent_colour", preview.dataset.accent);
    const pageTyped = typed("background_colour", preview.dataset.page);
    const accent = COLOUR.test(accentTyped) ? accentTyped : OWN_ACCENT;
    const page = COLOUR.test(pageTyped) ? pageTyped : OWN_PAGE;
    preview.querySelector(".q-theme-name").textContent = name;
    letter.textContent = [...name][0].toUpperCase();
    preview.style.setProperty("--accent", accent);
    preview.style.setProperty("--on-accent", readable(accent));
    preview.style.setProperty("--page", page);
    const wrong = [accentTyped, pageTyped].filter((colour) => colour && !COLOUR.test(colour));
    const ratio = contrast(accent, "#ffffff");
    said.classList.toggle("q-theme-bad", wrong.length > 0 || ratio < 3);
    if (wrong.length) {
      said.textContent = `${wrong.join(" and ")}: a colour is # and six digits, such as #1f6feb.`;
    } else if (ratio < 3) {
      said.textContent = `Too pale: the button’s contrast on the card is ${ratio.toFixed(1)} : 1, and 3 : 1 is needed.`;
    } else {
      said.textContent = `The button’s contrast on the card is ${ratio.toFixed(1)} : 1.`;
    }
  };

  const showAll = () => {
    show();
    showLogo(typed("logo_url", preview.dataset.logo));
  };
  for (const field of ["name", "display_name", "accent_colour", "background_colour"]) {
    document.getElementById(`id_${field}`)?.addEventListener("input", show);
  }
  document.getElementById("id_logo_url")?.addEventListener("change", showAll);
  showAll();
});
