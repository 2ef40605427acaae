/** Builds elements. Data becomes text nodes and checked links, never markup. */

import { partsOf } from "./marks";

export type Child = Node | string | null | false;

/** Elements for addresses, hashes, symbols and names. */
const UNTRANSLATED: ReadonlySet<string> = new Set(["code", "bdi"]);

interface Attributes {
  class?: string;
  id?: string;
  [name: string]: string | undefined;
}

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(name, value);
  }
  if (UNTRANSLATED.has(tag)) element.setAttribute("translate", "no");
  const present = children.filter((child): child is Node | string => Boolean(child));
  element.append(...present.map((child) => (typeof child === "string" ? nodeOf(child) : child)));
  return element;
}

/** Convert the text to a node. Marked amounts and symbols are put into elements that browsers don't translate. */
function nodeOf(text: string): Node | string {
  const parts = partsOf(text);
  if (parts.length === 1) return text;
  const nodes = parts.map((part, index) => (index % 2 ? el("bdi", {}, part) : part)).filter(Boolean);
  const [first] = nodes;
  if (nodes.length === 1 && first) return first;
  // Wrapped in one element. Otherwise a flex container would place each part separately.
  const whole = document.createElement("span");
  whole.append(...nodes);
  return whole;
}

export function button(
  id: string,
  kind: "primary" | "secondary" | "quiet",
  label: string,
  onClick: () => void,
): HTMLButtonElement {
  const element = el("button", { id, type: "button", class: `button button--${kind}` }, label);
  element.addEventListener("click", onClick);
  return element;
}

/** A link that opens in a new tab. If the URL is not http or https, it is plain text. */
export function externalLink(href: string | null, text: string, id?: string): Node {
  const url = webUrl(href);
  if (!url) return document.createTextNode(text);
  const attributes: Attributes = { href: url, target: "_blank", rel: "noopener noreferrer" };
  if (id) attributes.id = id;
  return el("a", attributes, text);
}

export function linkButton(id: string, kind: "primary" | "secondary", href: string, text: string): Node {
  return el("a", { id, class: `button button--${kind}`, href, rel: "noopener" }, text);
}

/** Return `text` if it is an http or https URL, or else null. A `javascript:` URL would run a script. */
export function webUrl(text: string | null): string | null {
  if (!text) return null;
  try {
    return ["https:", "http:"].includes(new URL(text).protocol) ? text : null;
  } catch {
    return null;
  }
}

/** The letter to show in place of a missing picture. */
export function initial(name: string): string {
  return ([...name][0] ?? "").toUpperCase();
}

export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no #${id}`);
  return element;
}

/** Makes each `[data-copy]` button copy the text of its target, and then show and announce the text `copied`. */
export function enableCopyButtons(root: HTMLElement, copied: string, announce: (text: string) => void): void {
  root.addEventListener("click", (event) => {
    const pressed = (event.target as Element).closest<HTMLButtonElement>("button[data-copy]");
    const target = pressed && document.getElementById(pressed.dataset.copy ?? "");
    if (pressed && target) void copyFrom(target, pressed, copied, announce);
  });
}

async function copyFrom(
  target: HTMLElement,
  pressed: HTMLButtonElement,
  copied: string,
  announce: (text: string) => void,
): Promise<void> {
  const text = target.dataset.value ?? target.textContent?.trim() ?? "";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without a secure context there is no clipboard. Select the text, so that the customer can copy it.
    getSelection()?.selectAllChildren(target);
    return;
  }
  pressed.dataset.label ??= pressed.textContent ?? "";
  pressed.textContent = copied;
  announce(copied);
  setTimeout(() => (pressed.textContent = pressed.dataset.label ?? ""), 2000);
}
