/** Checks whether the connected wallet has enough to pay by a route. Unknown balances count as enough. */

import { amountOf } from "../money";
import type { Amount, Route } from "../server/types";
import { outlayOf } from "./route-cache";

export interface Shortage {
  /**
   * `gas`: the wallet has too little of the chain's coin for the fees. `funds`: the wallet has too little of the token
   * to pay with.
   */
  kind: "funds" | "gas";
  required: Amount;
  held: Amount;
  symbol: string;
}

/** The balance of a token on the route's chain, or null if unknown. An empty address means the chain's coin. */
export type BalanceOf = (address: string) => Amount | null;

export function shortageOf(route: Route, balanceOf: BalanceOf): Shortage | null {
  const { token, chain } = route.from;
  const [paying, coins] = [balanceOf(token.contract_address), balanceOf("")];
  const isCoin = token.contract_address === "";
  const outlay = BigInt(outlayOf(route).raw);
  const fees = coinFees(route);
  const funds = isCoin ? outlay + BigInt(route.gas?.amount?.raw ?? 0) : outlay;
  if (paying && BigInt(paying.raw) < funds) return lacking("funds", funds, paying, token.symbol);
  if (!isCoin && coins && BigInt(coins.raw) < fees) return lacking("gas", fees, coins, chain.native_symbol);
  return null;
}

/** The network fee and other fees in the chain's coin that are not part of the amount, in base units. */
function coinFees({ from, fees, gas }: Route): bigint {
  const own = fees.filter(({ included, token }) => {
    const isHere = (token.chain_id ?? from.chain_id) === from.chain_id;
    return !included && isHere && token.contract_address === "";
  });
  return own.reduce((total, { amount }) => total + BigInt(amount?.raw ?? 0), BigInt(gas?.amount?.raw ?? 0));
}

function lacking(kind: Shortage["kind"], required: bigint, held: Amount, symbol: string): Shortage {
  return { kind, required: amountOf(required.toString(), held.decimals), held, symbol };
}
