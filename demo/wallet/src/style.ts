// A style sheet constructed by a script is not an inline style, so the page's Content-Security-Policy allows it.
const CSS = `
:host { all: initial; }
* { box-sizing: border-box; }

dialog {
  --ink: #23202b;
  --soft: #6a6475;
  --line: #e9e2d3;
  --paper: #fffdf8;
  --marigold: #ffc83d;
  position: fixed;
  inset: 16px 16px auto auto;
  width: 368px;
  max-width: calc(100vw - 32px);
  max-height: calc(100dvh - 32px);
  margin: 0;
  padding: 0;
  overflow: hidden auto;
  border: 0;
  border-radius: 18px;
  background: var(--paper);
  color: var(--ink);
  font: 400 14px/1.45 ui-sans-serif, system-ui, "Segoe UI", Roboto, "Helvetica Neue", "Liberation Sans", Arial, sans-serif;
  text-align: start;
  box-shadow: 0 0 0 1px rgb(35 32 43 / 0.1), 0 8px 20px rgb(35 32 43 / 0.16), 0 28px 64px rgb(35 32 43 / 0.3);
}
dialog:focus { outline: none; }
dialog::backdrop { background: rgb(35 32 43 / 0.22); }
@media (prefers-reduced-motion: no-preference) {
  dialog[open] { animation: arrive 0.18s cubic-bezier(0.2, 0.8, 0.3, 1); }
  @keyframes arrive { from { opacity: 0; transform: translateY(-10px) scale(0.985); } }
}

header {
  display: flex;
  align-items: center;
  gap: 10px;
  padding: 12px 16px;
  background: var(--ink);
  color: #fff;
  font-weight: 650;
  font-size: 15px;
}
header svg { width: 24px; height: 24px; flex: none; }
.test-money {
  margin-inline-start: auto;
  padding: 2px 9px;
  border-radius: 99px;
  background: var(--marigold);
  color: var(--ink);
  font-size: 12px;
  font-weight: 650;
}
.stripe {
  height: 5px;
  background: repeating-linear-gradient(-45deg, var(--marigold) 0 10px, var(--ink) 10px 20px);
}

.who {
  display: flex;
  align-items: center;
  justify-content: space-between;
  gap: 12px;
  padding: 12px 20px 0;
  color: var(--soft);
  font-size: 13px;
}
.who span { display: inline-flex; align-items: center; gap: 7px; white-space: nowrap; }
.who span::before { content: ""; width: 9px; height: 9px; border-radius: 50%; background: conic-gradient(#ff8a5c, #ffc83d, #7c5cff, #ff8a5c); }
.who .network::before { background: #2fa36b; width: 7px; height: 7px; }

main { padding: 16px 20px 4px; }
h2 { margin: 0; font-size: 19px; line-height: 1.3; font-weight: 650; letter-spacing: -0.01em; outline: none; }
.origin { margin: 2px 0 0; color: var(--soft); font-size: 13px; overflow-wrap: anywhere; }
.amount {
  margin: 14px 0 0;
  font-size: 32px;
  line-height: 1.15;
  font-weight: 680;
  letter-spacing: -0.025em;
  font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere;
}
.amount.long { font-size: 22px; letter-spacing: -0.01em; }
.amount small { font-size: 17px; font-weight: 600; letter-spacing: 0; color: var(--soft); }

dl { margin: 16px 0 0; border-top: 1px solid var(--line); }
dl > div { display: grid; grid-template-columns: 92px 1fr; gap: 12px; padding: 9px 0; border-bottom: 1px solid var(--line); }
dt { color: var(--soft); }
dd { margin: 0; text-align: end; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
dd small { display: block; color: var(--soft); font-size: 12px; }
code { font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; }

code span { display: inline-block; }

.note { margin: 14px 0 0; color: var(--soft); font-size: 13px; }
.text {
  max-height: 220px;
  margin: 14px 0 0;
  padding: 12px;
  overflow: auto;
  border: 1px solid var(--line);
  border-radius: 10px;
  background: #fff;
  font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
  white-space: pre-wrap;
  overflow-wrap: anywhere;
}
.warning { margin: 14px 0 0; padding: 10px 12px; border-radius: 10px; background: #fdeae4; color: #8f2710; font-size: 13px; overflow-wrap: anywhere; }

footer { display: grid; grid-template-columns: 1fr 1fr; gap: 10px; padding: 18px 20px 20px; }
button {
  min-height: 46px;
  border: 1px solid #d5cdbb;
  border-radius: 12px;
  background: transparent;
  color: var(--ink);
  font: inherit;
  font-size: 15px;
  font-weight: 620;
  cursor: pointer;
}
button:hover { background: #f5efe1; }
button.confirm { border-color: var(--marigold); background: var(--marigold); }
button.confirm:hover { border-color: #f4b71c; background: #f4b71c; }
button:focus-visible { outline: 3px solid #7c5cff; outline-offset: 2px; }

@media (max-width: 520px) {
  dialog { inset: auto 8px 8px 8px; width: auto; max-width: none; max-height: calc(100dvh - 16px); }
}
@media (forced-colors: active) {
  dialog, button { border: 1px solid; }
}
`;

export function makeStyleSheet(): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(CSS);
  return sheet;
}
