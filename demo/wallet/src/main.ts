import { loadConfig, loadSolanaConfig } from "./config";
import { DemoWalletProvider } from "./provider";
import { registerSolanaWallet } from "./solana";

/** On a page that sends a refund, the merchant's wallet replaces the customer's wallet. */
const isMerchant = document.querySelector("[data-refund]") !== null;
const NAME = isMerchant ? "Demo Merchant Wallet" : "Demo Wallet";
const ICON =
  "data:image/svg+xml," +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96"><rect width="96" height="96" rx="22" fill="#23202b"/>' +
      '<path d="M20 34h50a8 8 0 0 1 8 8v26a8 8 0 0 1-8 8H28a8 8 0 0 1-8-8z" fill="#ffc83d"/>' +
      '<path d="M20 36a10 10 0 0 1 10-10h34v8z" fill="#e09f10"/><circle cx="64" cy="55" r="6" fill="#23202b"/></svg>',
  );

const detail = Object.freeze({
  info: Object.freeze({
    uuid: crypto.randomUUID?.() ?? "6f1a7f0e-2f0b-4f57-9d0a-d9a2c0f7c1b1",
    name: NAME,
    icon: ICON,
    rdns: "demo.quittance.wallet",
  }),
  provider: new DemoWalletProvider(loadConfig(isMerchant)),
});

const announce = () => window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));

window.addEventListener("eip6963:requestProvider", announce);
announce();

loadSolanaConfig(isMerchant)
  .then((config) => config && registerSolanaWallet(config, NAME, ICON))
  .catch(() => {});
