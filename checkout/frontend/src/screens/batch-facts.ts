/** The facts that the wallet shows in its prompt for a batch. */

import type { Chains } from "../chains";
import { copy } from "../copy";
import { el } from "../dom";
import { FAMILIES } from "../families";
import type { Reviewed } from "../flow/states";
import { untranslated } from "../language";
import { amountOf, costs, isZero, plain } from "../money";
import { words } from "../pay/words";
import type { Signed } from "../wallets/wallet";
import { addressFact, fact, facts } from "./parts";
import { stepList, type StepState } from "./steps";

/** The facts of each call of the batch, in the order of execution. */
export function batchFacts(calls: readonly Signed[], { wallet, route }: Reviewed, chains: Chains, nameOfPayment: string): HTMLElement {
  const { token } = route.from;
  const coin = FAMILIES[wallet.family];
  const steps = calls.map((call): [string, StepState] => {
    const allowed = amountOf(call.rawAmount, token.decimals);
    if (call.party === null) return [nameOfPayment, "todo"];
    return [isZero(allowed) ? words.stepReset(token.symbol) : words.stepAllow(`${plain(allowed)} ${token.symbol}`), "todo"];
  });
  const details = calls.flatMap(({ party, contract, rawAmount }, index) => {
    // A reset has the same spender and token as the permission after it.
    if (party !== null && calls[index + 1]?.party === party) return [];
    if (party !== null) return [addressFact(words.spender, party), contract && addressFact(words.tokenContract, contract)];
    const hasCoins = rawAmount !== "0" && coin !== undefined;
    const coins = hasCoins ? `${costs(amountOf(rawAmount, coin.coinDecimals))} ${route.from.chain.native_symbol}` : "";
    return [coins && fact(copy.amount, untranslated(coins)), contract && addressFact(words.contract, contract)];
  });
  return el(
    "section",
    { class: "signed" },
    el("h3", {}, words.youSign),
    stepList(steps, "steps--numbered"),
    facts(fact(words.network, chains.name(route.from.chain_id)), ...details),
  );
}
