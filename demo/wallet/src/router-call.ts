import { decodeFunctionData, hexToBytes, parseAbi, zeroAddress, type Address, type Hex } from "viem";
import { toBase58 } from "../../../checkout/frontend/src/solana/base58";

/** A decoded call to a routing provider's contract. */
export interface RouterCall {
  title: string;
  /** Null for the chain's coin. */
  token: Address | null;
  amount: bigint;
  receiver: string;
  /** Null if the money stays on the chain. */
  targetChainId: bigint | null;
}

const NOT_EVM = "0x11f111f111f111F111f111f111F111f111f111F1";
const SWAP =
  "(bytes32 id, string integrator, string referrer, address receiver, uint256 least, (address callTo, address approveTo, address sent, address received, uint256 amount, bytes data, bool deposits) swap)";

// The calls of LI.FI's contract that the local aggregator uses.
const ABI = parseAbi([
  "struct Bridge { bytes32 id; string bridge; string integrator; address referrer; address token; address receiver; uint256 amount; uint256 chainId; bool swaps; bool calls; }",
  "struct Relay { bytes32 requestId; bytes32 receiver; bytes32 token; bytes signature; }",
  "function startBridgeTokensViaRelay(Bridge bridge, Relay relay) payable",
  `function swapTokensSingleV3ERC20ToERC20${SWAP}`,
  `function swapTokensSingleV3ERC20ToNative${SWAP}`,
  `function swapTokensSingleV3NativeToERC20${SWAP} payable`,
]);

/** Decode a call of a routing provider's contract. Return null for any other call. */
export function readRouterCall(data: Hex): RouterCall | null {
  let call;
  try {
    call = decodeFunctionData({ abi: ABI, data });
  } catch {
    return null;
  }
  if (call.functionName === "startBridgeTokensViaRelay") {
    const [{ token, receiver, amount, chainId }, relay] = call.args;
    return {
      title: "Send to another chain",
      token: coinOr(token),
      amount,
      receiver: receiver === NOT_EVM ? toBase58(hexToBytes(relay.receiver)) : receiver,
      targetChainId: chainId,
    };
  }
  const [, , , receiver, , swap] = call.args;
  return { title: "Swap", token: coinOr(swap.sent), amount: swap.amount, receiver, targetChainId: null };
}

function coinOr(token: Address): Address | null {
  return token === zeroAddress ? null : token;
}
