/** The screens of a batch: what the wallet's one prompt contains, the wait for its transaction, and how it can end. */

import type { Chains } from "../chains";
import { copy } from "../copy";
import { button, el } from "../dom";
import { FAMILIES } from "../families";
import type { Notice } from "../flow/notices";
import type { Reviewed } from "../flow/states";
import { untranslated } from "../language";
import { amountOf, costs, isZero, plain } from "../money";
import { mayLetGo, type Batch } from "../server/batches";
import type { Signed } from "../wallets/wallet";
import type { Screen } from "./panel";
import { actions, addressFact, fact, facts, noticeBox, paragraph, screen } from "./parts";
import { stepList, type StepState } from "./steps";

/** The facts of each call in the batch, in the order in which the wallet executes them. */
export function batchFacts(calls: readonly Signed[], { wallet, route }: Reviewed, chains: Chains, nameOfPayment: string): HTMLElement {
  const { token } = route.from;
  const coin = FAMILIES[wallet.family];
  const steps = calls.map((call): [string, StepState] => {
    const allowed = amountOf(call.rawAmount, token.decimals);
    if (call.party === null) return [nameOfPayment, "todo"];
    return [isZero(allowed) ? copy.stepReset(token.symbol) : copy.stepAllow(`${plain(allowed)} ${token.symbol}`), "todo"];
  });
  const details = calls.flatMap(({ party, contract, rawAmount }, index) => {
    // A reset has the spender and the token of the permission after it.
    if (party !== null && calls[index + 1]?.party === party) return [];
    if (party !== null) return [addressFact(copy.spender, party), contract && addressFact(copy.tokenContract, contract)];
    const hasCoins = rawAmount !== "0" && coin !== undefined;
    const coins = hasCoins ? `${costs(amountOf(rawAmount, coin.coinDecimals))} ${route.from.chain.native_symbol}` : "";
    return [coins && fact(copy.amount, untranslated(coins)), contract && addressFact(copy.contract, contract)];
  });
  return el(
    "section",
    { class: "signed" },
    el("h3", {}, copy.youSign),
    stepList(steps, "steps--numbered"),
    facts(fact(copy.network, chains.name(route.from.chain_id)), ...details),
  );
}

/** The screen while the wallet has the batch and no transaction of it is known. */
export function batchScreen(batch: Batch, payAgain: () => void): Screen {
  const { wallet } = batch.by;
  const isLate = mayLetGo(batch);
  const steps: [string, StepState][] = [[copy.stepSent, "awaited"], [copy.stepFinality, "todo"], [copy.stepPaid, "todo"]];
  const text = isLate ? copy.batch.late(wallet) : copy.batch.sending(wallet);
  return screen(
    isLate ? "late" : "processing",
    isLate ? copy.late : copy.processing,
    [
      isLate ? noticeBox({ tone: "info", text }) : paragraph(text),
      stepList(steps),
      isLate && actions(button("not-sent", "secondary", copy.notSent, payAgain)),
    ],
    text,
  );
}

/** The notice about a batch that ended without a known transaction. */
export function batchNotice({ ended, by }: Batch): Notice {
  const text = copy.batch[ended ?? "lost"](by.wallet);
  return { tone: ended === "unsent" ? "info" : "error", text };
}
