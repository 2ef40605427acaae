/** Lets a wallet in this browser send the sweeps that a page of the portal lists. */

import { byId } from "../dom";
import type { Chain } from "../server/types";
import { discoverEthereumWallets } from "../wallets/announced";
import { SweepList } from "./sweep-list";

const chain = JSON.parse(byId("sweep-chain").textContent ?? "") as Chain;
const lists: SweepList[] = [];
/** Disable all buttons while a prompt of the wallet is open. A second prompt would hide the first. */
const setBusy = (busy: boolean): void => lists.forEach((list) => list.setBusy(busy));

lists.push(...[...document.querySelectorAll<HTMLElement>("[data-sweep]")].map((root) => new SweepList(root, chain, setBusy)));
discoverEthereumWallets("Browser wallet", (wallets, settled) => lists.forEach((list) => list.offer(wallets, settled)));
