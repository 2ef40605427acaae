import { userRejected } from "./errors";
import { makeStyleSheet } from "./style";

/** The description of a transaction in its confirmation window. */
export interface Summary {
  title: string;
  amount: string | null;
  symbol: string | null;
  /** The recipient or another counterparty, with a label and the full address. */
  counterparty: { label: string; address: string } | null;
  /** The token's contract or mint. */
  contract: string | null;
  /**
   * If the call is to a provider's contract: the final recipient, the destination chain, and the bridge's fee in native
   * coin.
   */
  arrives?: { at: string; on: string; bridgeFee: string | null };
  /** Further transfers, with their recipients. */
  besides?: { value: string; to: string };
  /** A text that the transaction writes to the chain. */
  note?: string;
  balance: string | null;
  /** The account holds less than the amount. */
  isShort: boolean;
  /**
   * The payment's reference. On EVM chains, it is the bytes after the call's arguments. On Solana, it is an account.
   */
  reference: string | null;
  fee: { value: string; detail?: string };
  /** The deposit for the recipient's new token account. */
  deposit?: string;
  /** The reason why the transaction would fail, according to the node. Null if it would succeed. */
  warning: string | null;
}

/** An amount with more digits than this has a smaller font, so that it fits on one line. */
const LONG_AMOUNT = 12;

interface Row {
  label: string;
  value: string;
  detail?: string;
  isCode?: boolean;
  testId?: string;
}

interface Asking {
  account: string;
  network: string;
}

interface Question extends Asking {
  kind: "connect" | "switch" | "add" | "sign";
  title: string;
  confirmLabel: string;
  rows?: Row[];
  text?: string;
  note?: string;
}

interface TransactionQuestion extends Asking {
  kind: "transaction";
  summary: Summary;
}

interface BatchQuestion extends Asking {
  kind: "batch";
  /** A summary for each call, in the order of execution. */
  summaries: Summary[];
  fee: Summary["fee"];
  /** The reason why the batch would fail, according to the node. Null if it would succeed. */
  warning: string | null;
  /** Whether the account begins to delegate to the wallet's contract. */
  isUpgrade: boolean;
}

type AnyQuestion = Question | TransactionQuestion | BatchQuestion;

/**
 * Open the wallet's window, and wait for the customer. Rejects with 4001 on Reject, on Escape, and if the window is
 * closed.
 */
export function confirm(question: AnyQuestion): Promise<void> {
  const host = element("div");
  host.id = "demo-wallet";
  const root = host.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [makeStyleSheet()];

  const dialog = element("dialog");
  dialog.dataset.testid = "demo-wallet-window";
  dialog.dataset.kind = question.kind;
  dialog.setAttribute("aria-labelledby", "title");
  const reject = button("Reject", "demo-wallet-reject");
  const accept = button("confirmLabel" in question ? question.confirmLabel : "Confirm", "demo-wallet-confirm");
  accept.className = "confirm";
  dialog.append(heading(), whoAndWhere(question), body(question), element("footer", reject, accept));
  root.append(dialog);
  document.body.append(host);

  return new Promise<void>((resolve, refuse) => {
    accept.addEventListener("click", () => dialog.close("confirmed"));
    reject.addEventListener("click", () => dialog.close());
    dialog.addEventListener("close", () => {
      host.remove();
      if (dialog.returnValue === "confirmed") resolve();
      else refuse(userRejected());
    });
    dialog.showModal();
  });
}

function heading(): DocumentFragment {
  const label = element("span", "test money");
  label.className = "test-money";
  const stripe = element("div");
  stripe.className = "stripe";
  const fragment = document.createDocumentFragment();
  fragment.append(element("header", purse(), "Demo Wallet", label), stripe);
  return fragment;
}

function whoAndWhere({ account, network }: Asking): HTMLElement {
  const who = element("span", `Account ${account.slice(0, 6)}…${account.slice(-4)}`);
  who.title = account;
  const where = element("span", network);
  where.className = "network";
  where.dataset.testid = "demo-wallet-network";
  const line = element("div", who, where);
  line.className = "who";
  return line;
}

function body(question: AnyQuestion): HTMLElement {
  const title = element("h2", titleOf(question));
  title.id = "title";
  title.tabIndex = -1;
  title.autofocus = true;
  const origin = element("p", `Asked by ${location.origin}`);
  origin.className = "origin";
  origin.dataset.testid = "demo-wallet-origin";
  const main = element("main", title, origin);
  main.append(...partsOf(question));
  return main;
}

function titleOf(question: AnyQuestion): string {
  if (question.kind === "transaction") return question.summary.title;
  if (question.kind === "batch") return `${question.summaries.length} steps, all or none`;
  return question.title;
}

function partsOf(question: AnyQuestion): HTMLElement[] {
  if (question.kind === "transaction") return transactionParts(question);
  return question.kind === "batch" ? batchParts(question) : questionParts(question);
}

function batchParts({ summaries, fee, warning, isUpgrade }: BatchQuestion): HTMLElement[] {
  const calls = summaries.flatMap((summary) => {
    const [amount, symbol] = [summary.amount ?? "", summary.symbol ?? ""];
    const { counterparty, contract, arrives } = summary;
    const rows: (Row | false)[] = [
      { label: summary.title, value: `${amount} ${symbol}`.trim(), testId: "demo-wallet-call" },
      counterparty !== null && { label: counterparty.label, value: counterparty.address, isCode: true, testId: "demo-wallet-recipient" },
      contract !== null && { label: "Token", value: contract, isCode: true },
      arrives !== undefined && { label: "Arrives at", value: arrives.at, isCode: true, testId: "demo-wallet-receiver" },
      arrives !== undefined && { label: "Arrives on", value: arrives.on },
    ];
    return rows.filter((row) => row !== false);
  });
  const parts: HTMLElement[] = [table([...calls, { label: "Network fee", ...fee, testId: "demo-wallet-fee" }])];
  if (isUpgrade) parts.push(paragraph("note", "Your account becomes a smart account (EIP-7702). Its own key stays in control."));
  if (warning) parts.push(paragraph("warning", `This will probably fail: ${warning}`));
  return parts;
}

function questionParts({ rows, text, note }: Question): HTMLElement[] {
  const parts: HTMLElement[] = [];
  if (rows) parts.push(table(rows));
  if (text !== undefined) {
    const shown = element("pre", text);
    shown.className = "text";
    shown.tabIndex = 0;
    shown.dataset.testid = "demo-wallet-message";
    parts.push(shown);
  }
  if (note) parts.push(paragraph("note", note));
  return parts;
}

function transactionParts({ summary }: TransactionQuestion): HTMLElement[] {
  const parts: HTMLElement[] = [];
  if (summary.amount !== null) {
    const amount = paragraph(summary.amount.length > LONG_AMOUNT ? "amount long" : "amount", summary.amount);
    amount.append(" ", element("small", summary.symbol ?? ""));
    amount.dataset.testid = "demo-wallet-amount";
    parts.push(amount);
  }
  const { counterparty, contract, arrives, besides, note, reference, fee, deposit, balance } = summary;
  const rows: (Row | false)[] = [
    counterparty !== null && {
      label: counterparty.label,
      value: counterparty.address,
      isCode: true,
      testId: "demo-wallet-recipient",
    },
    contract !== null && { label: "Token", value: contract, isCode: true },
    arrives !== undefined && { label: "Arrives at", value: arrives.at, isCode: true, testId: "demo-wallet-receiver" },
    arrives !== undefined && { label: "Arrives on", value: arrives.on },
    arrives !== undefined && arrives.bridgeFee !== null && { label: "Bridge fee", value: arrives.bridgeFee },
    besides !== undefined && { label: "Also sent", value: besides.value, detail: `to ${besides.to}` },
    note !== undefined && { label: "Note", value: note },
    reference !== null && { label: "Reference", value: reference, isCode: true },
    { label: "Network fee", ...fee, testId: "demo-wallet-fee" },
    deposit !== undefined && { label: "Deposit", value: deposit, detail: "opens the recipient’s token account" },
    balance !== null && { label: "You have", value: balance },
  ];
  parts.push(table(rows.filter((row) => row !== false)));
  if (summary.isShort) parts.push(paragraph("warning", `This account does not hold enough ${summary.symbol}.`));
  else if (summary.warning) parts.push(paragraph("warning", `This will probably fail: ${summary.warning}`));
  return parts;
}

function table(rows: Row[]): HTMLElement {
  return element(
    "dl",
    ...rows.map(({ label, value, detail, isCode, testId }) => {
      const shown = element("dd", isCode ? code(value) : value);
      if (detail) shown.append(element("small", detail));
      if (testId) shown.dataset.testid = testId;
      return element("div", element("dt", label), shown);
    }),
  );
}

/** Split a long value into two halves, so that the line breaks in the middle. */
function code(value: string): HTMLElement {
  const half = Math.ceil(value.length / 2);
  return element("code", element("span", value.slice(0, half)), element("span", value.slice(half)));
}

function paragraph(className: string, text: string): HTMLElement {
  const made = element("p", text);
  made.className = className;
  return made;
}

function button(label: string, testId: string): HTMLButtonElement {
  const made = element("button", label);
  made.type = "button";
  made.dataset.testid = testId;
  return made;
}

function element<K extends keyof HTMLElementTagNameMap>(name: K, ...children: (Node | string)[]) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

function purse(): SVGElement {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("viewBox", "18 24 62 54");
  drawing.setAttribute("aria-hidden", "true");
  const shape = (name: string, attributes: Record<string, string>) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    drawing.append(made);
  };
  shape("path", { d: "M20 34h50a8 8 0 0 1 8 8v26a8 8 0 0 1-8 8H28a8 8 0 0 1-8-8z", fill: "#ffc83d" });
  shape("path", { d: "M20 36a10 10 0 0 1 10-10h34v8z", fill: "#e09f10" });
  shape("circle", { cx: "64", cy: "55", r: "6", fill: "#23202b" });
  return drawing;
}
