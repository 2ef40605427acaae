/**
 * The styles of this script's elements. These styles don't mix with the shop's styles, and work with any
 * Content-Security-Policy.
 */

const COMMON = `
:host{all:initial}
*{box-sizing:border-box}
iframe{display:block;width:100%;border:0;background:none;color-scheme:normal}
iframe:focus-visible{outline:0}
.waiting{display:grid;gap:.75rem;place-content:center;justify-items:center;min-height:12rem;padding:1.5rem;text-align:center;font:1rem/1.5 system-ui,sans-serif;color:var(--text)}
.waiting p{margin:0}
a{color:inherit;text-underline-offset:.2em}
:focus-visible{outline:3px solid var(--text);outline-offset:2px;border-radius:4px}
:host{--page:#f4f4f2;--text:#17181a;--line:#d9d9d6}
@media (prefers-color-scheme:dark){:host{--page:#0d0e10;--text:#ededef;--line:#2d2f33}}
`;

const MODAL = `
dialog{position:fixed;inset:0;margin:auto;padding:0;border:0;overflow:hidden;display:none;flex-direction:column;width:min(30rem,100vw - 2rem);height:min(46rem,100vh - 2rem);height:min(46rem,100dvh - 2rem);max-width:none;max-height:none;border-radius:1rem;background:var(--page);color:var(--text);box-shadow:0 24px 80px -16px rgb(0 0 0/45%);overscroll-behavior:contain}
dialog[open]{display:flex}
dialog::backdrop{background:rgb(12 14 20/55%)}
.bar{display:flex;flex:none;align-items:center;justify-content:space-between;padding-inline-start:1.25rem;border-bottom:1px solid var(--line);font:.8125rem/1.4 system-ui,sans-serif;color:var(--text)}
bdi{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
button{display:grid;place-items:center;width:2.75rem;height:2.75rem;padding:0;border:0;background:none;color:inherit;cursor:pointer}
button:focus-visible{outline-offset:-5px;border-radius:.625rem}
svg{width:1.25rem;height:1.25rem;fill:none;stroke:currentColor;stroke-width:1.75;stroke-linecap:round}
.body{position:relative;flex:1;min-height:0}
.body>*{position:absolute;inset:0;height:100%}
.opening iframe{opacity:0}
@media (max-width:40rem),(max-height:32rem){dialog{inset:0;width:100%;height:100%;padding:env(safe-area-inset-top) env(safe-area-inset-right) env(safe-area-inset-bottom) env(safe-area-inset-left);border-radius:0}}
@media (forced-colors:active){dialog{border:1px solid}}
@media (prefers-reduced-motion:no-preference){
dialog[open]{animation:rise .18s ease-out}
dialog[open]::backdrop{animation:fade .18s ease-out}
iframe{transition:opacity .15s}
@keyframes rise{from{opacity:0;transform:translateY(12px)}}
@keyframes fade{from{opacity:0}}
}
`;

const PLACE = `
:host{display:block}
.opening iframe{position:absolute;visibility:hidden}
`;

/** A shadow tree under `host` with these styles. */
export function shadow(host: HTMLElement, kind: "modal" | "place"): ShadowRoot {
  const root = host.attachShadow({ mode: "open" });
  const css = COMMON + (kind === "modal" ? MODAL : PLACE);
  try {
    // The shop's Content-Security-Policy doesn't apply to a style sheet that a script constructs.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    root.adoptedStyleSheets = [sheet];
  } catch {
    const style = document.createElement("style");
    style.textContent = css;
    root.append(style);
  }
  return root;
}
