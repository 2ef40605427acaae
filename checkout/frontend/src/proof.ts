/** Lets a wallet in this browser fill in the payer proof forms. The forms also work without this script. */

import { copy } from "./copy";
import { button, byId, el } from "./dom";
import { connectionNotice, info, proofNotice, type Notice } from "./flow/notices";
import { Outbox } from "./server/outbox";
import type { Chain } from "./server/types";
import * as refusals from "./wallets/refusals";
import type { Wallet } from "./wallets/wallet";
import * as wallet from "./wallets/wallet";
import { discoverWallets } from "./wallets/wallets";

// The script for Solana wallets uses these two modules of this page. (On the checkout page, it uses those in
// `shared.ts`.)
Object.assign(window, { checkoutModules: { "wallets/refusals": refusals, "wallets/wallet": wallet } });

const place = byId("wallets");
revealOwn();
const { wants, address, continues, solana = "" } = place.dataset;
/** Whether the customer signs with the chosen wallet, on this page or on the next one. */
const signs = wants === "signature" || continues !== undefined;
const chain = JSON.parse(byId("chain-data").textContent ?? "") as Chain;
const notice = el("p", { class: "notice", hidden: "" });
const choice = el("div", { class: "actions" });
place.append(choice, notice);

discoverWallets(
  {
    families: [chain.chain_type],
    defaultName: copy.browserWallet,
    solana: { chains: [chain], script: solana, isNeeded: false },
  },
  offer,
  () => undefined,
);

function offer(wallets: Wallet[]): void {
  choice.replaceChildren(...wallets.map(offered));
  place.hidden = wallets.length === 0;
  if (wallets.length > 0 && signs) foldOtherWay();
}

function offered(wallet: Wallet, index: number): HTMLElement {
  const label = signs ? copy.proving(wallet.name) : copy.byHand.takeAddress(wallet.name);
  return button(`wallet-${index}`, signs && index === 0 ? "primary" : "secondary", label, () => void use(wallet));
}

/** Fold the form once, unless it shows an error. Then the wallet's button is the only primary button. */
function foldOtherWay(): void {
  const other = document.getElementById("other-way");
  const own = other?.querySelector(".button--primary");
  if (!other || !own) return;
  own.classList.replace("button--primary", "button--secondary");
  if (!other.querySelector("[aria-invalid]")) other.removeAttribute("open");
}

async function use(wallet: Wallet): Promise<void> {
  showNotice(null);
  let account: string;
  try {
    account = await wallet.connect();
  } catch (error) {
    return showNotice(connectionNotice(error, wallet));
  }
  if (wants === "signature") await sign(wallet, account);
  else {
    fill("wallet", account);
    if (continues !== undefined) (byId("wallet") as HTMLInputElement).form?.requestSubmit();
  }
}

/** If this browser submitted the transaction, show the wallets at once and without a warning. */
function revealOwn(): void {
  const own = document.getElementById("prove-mine");
  const { request = "", hash = "" } = own?.dataset ?? {};
  if (!own || !new Outbox(request).isMine(hash)) return;
  own.setAttribute("open", "");
  byId("prove-warning").hidden = true;
}

async function sign(wallet: Wallet, connected: string): Promise<void> {
  // The page of a refund doesn't know which account paid. The service checks the signer.
  const shown = address ? [connected, ...(await wallet.accounts().catch(() => []))] : [connected];
  const account = shown.find((one) => !address || isSame(one, address));
  if (!account) return showNotice(info(copy.byHand.otherAccount(wallet.name, address ?? "")));
  try {
    fill("signature", await wallet.sign(account, byId("proof-text").textContent ?? ""));
  } catch (error) {
    return showNotice(proofNotice(error, wallet));
  }
  (byId("signed") as HTMLFormElement).requestSubmit();
}

/** EVM addresses ignore case. Solana addresses are case-sensitive. */
function isSame(one: string, other: string): boolean {
  return chain.chain_type === "evm" ? one.toLowerCase() === other.toLowerCase() : one === other;
}

function fill(field: string, value: string): void {
  const input = byId(field) as HTMLInputElement;
  input.value = value;
  input.form?.querySelector("button")?.focus();
}

function showNotice(content: Notice | null): void {
  notice.hidden = !content;
  notice.className = `notice notice--${content?.tone ?? "info"}`;
  notice.textContent = byId("live").textContent = content?.text ?? "";
}
