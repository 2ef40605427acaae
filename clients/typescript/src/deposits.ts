/** Recomputes deposit addresses and builds sweeps, offline and without an API key. */
import { keccak256 } from "./keccak.js";

/** The factory of deposit addresses, at the same address on every EVM chain. If a chain lacks it, deploy it there. */
export const FACTORY = "0xc29d159942722399849F7575503fBd827902b879";

/**
 * The maximum gas of one sweep in a batch. When the last sweep begins, the transaction must still have this much gas.
 */
export const GAS_PER_SWEEP = 300_000;

// The init code of a forwarder, without the recipient at its end. Built from contracts/Forwarder.sol.
const INIT_CODE =
  "60a034606457601f61017138819003918201601f19168301916001600160401b038311848410176069578084926020946040" +
  "52833981010312606457516001600160a01b038116810360645760805260405160f19081610080823960805181604b0152f3" +
  "5b600080fd5b634e487b7160e01b600052604160045260246000fdfe608060405260043610156019575b3615601757600080" +
  "fd5b005b60003560e01c6301681a6203600d573460b357602036600319011260b3576004356001600160a01b038116810360" +
  "b3577f000000000000000000000000000000000000000000000000000000000000000090801560b8576370a0823160e01b60" +
  "00523060045260206024806000845afa1560b35760203d1060b3576044600080809493819463a9059cbb60e01b8352600452" +
  "5af11560b357005b600080fd5b5060008080809347908183527f7f221332ee403570bf4d61630b58189ea566ff1635269001" +
  "e9df6a890f413dd8602084a15af11560b35700";
const SWEEP = keccak256(new TextEncoder().encode("sweep((address,bytes32,address)[],uint256)")).subarray(0, 4);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const ZERO = "00".repeat(20);
const PADDING = "00".repeat(12);

/** A deposit address with its recipient, and the values from which it is computed. All are in hex. */
export interface Deposit {
  address: string;
  recipient: string;
  factory: string;
  salt: string;
  init_code: string;
  init_code_hash: string;
}

/** An asset of a deposit address. `token` is the token's contract, or "" for the native coin. */
export interface Sweep {
  deposit: Deposit;
  token: string;
}

/** An unsigned transaction for `eth_sendTransaction`. */
export interface UnsignedTransaction {
  to: string;
  data: string;
  value: string;
}

/** Returns the deposit address of a payment request. Throws a TypeError for an invalid ID or address. */
export function find(paymentRequestId: string, recipient: string, factory: string = FACTORY): Deposit {
  if (!UUID.test(paymentRequestId)) {
    throw new TypeError(`${paymentRequestId} is not the ID of a payment request, which is a UUID.`);
  }
  const id = bytes(`0x${paymentRequestId.replaceAll("-", "")}`, "The ID");
  return fromSalt(`0x${hex(keccak256(id))}`, recipient, factory);
}

/** Returns the deposit address of a salt, as the API returns it. Throws a TypeError for an invalid value. */
export function fromSalt(salt: string, recipient: string, factory: string = FACTORY): Deposit {
  const payee = payeeDigits(recipient);
  const code = `0x${INIT_CODE}${PADDING}${payee}`;
  const hash = `0x${hex(keccak256(bytes(code, "init_code")))}`;
  return {
    address: computeAddress({ factory, salt, init_code_hash: hash }),
    recipient: checksummed(payee),
    factory: checksummed(addressDigits(factory)),
    salt: `0x${wordDigits(salt, "salt")}`,
    init_code: code,
    init_code_hash: hash,
  };
}

/**
 * Returns the address of a contract that `factory` deploys by CREATE2 (EIP-1014). Pass the contract's init code or the
 * hash of that code.
 *
 * You can pass the API's `deposit` object. Throws a TypeError for invalid values, or if code and hash differ.
 */
export function computeAddress(values: {
  factory: string;
  salt: string;
  init_code?: string;
  init_code_hash?: string;
}): string {
  const { factory, salt, init_code, init_code_hash } = values;
  const named = init_code_hash === undefined ? undefined : wordDigits(init_code_hash, "init_code_hash");
  const computed = init_code === undefined ? undefined : hex(keccak256(bytes(init_code, "init_code")));
  const hash = computed ?? named;
  if (hash === undefined) throw new TypeError("Pass init_code or init_code_hash.");
  if (named !== undefined && named !== hash) throw new TypeError("init_code_hash is not the hash of init_code.");
  const digest = keccak256(bytes(`0xff${addressDigits(factory)}${wordDigits(salt, "salt")}${hash}`, "The values"));
  return checksummed(hex(digest.subarray(12)));
}

/**
 * Returns the recipient in this init code. The forwarder can send to no other address.
 *
 * Throws a TypeError if the code is not that of a forwarder. In this case, don't send money to the deposit address.
 */
export function recipientOf(initCode: string): string {
  const code = hex(bytes(initCode, "init_code"));
  if (code.length !== INIT_CODE.length + 64 || !code.startsWith(INIT_CODE + PADDING)) {
    throw new TypeError("This is not the init code of a forwarder of this release.");
  }
  return checksummed(code.slice(-40));
}

/**
 * Returns the unsigned transaction that sweeps each asset. The transaction first deploys forwarders that don't exist
 * yet.
 *
 * Any account may send the transaction. Send it on the chain of the deposits. Throws a TypeError for an empty list, or
 * for deposits of several factories.
 */
export function buildSweep(sweeps: readonly Sweep[], gasPerSweep: number = GAS_PER_SWEEP): UnsignedTransaction {
  const [factory, ...others] = new Set(sweeps.map(({ deposit }) => deposit.factory));
  if (factory === undefined || others.length) throw new TypeError("Pass one or more deposits of one factory.");
  const rows = sweeps.map(
    ({ deposit, token }) =>
      `${PADDING}${payeeDigits(deposit.recipient)}${wordDigits(deposit.salt, "salt")}` +
      `${PADDING}${token === "" ? ZERO : addressDigits(token)}`,
  );
  const data = [hex(SWEEP), number(64), number(gasPerSweep), number(rows.length), ...rows].join("");
  return { to: factory, data: `0x${data}`, value: "0x0" };
}

function number(value: number): string {
  if (!Number.isSafeInteger(value) || value < 0) throw new TypeError("gasPerSweep should be a whole number.");
  return value.toString(16).padStart(64, "0");
}

function payeeDigits(address: string): string {
  const digits = addressDigits(address);
  if (digits === ZERO) throw new TypeError("The zero address can't be a recipient: what it receives is lost.");
  return digits;
}

/** Returns the digits of an address in lower case. Throws for a wrong checksum, for example after a typing error. */
function addressDigits(text: string): string {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) {
    throw new TypeError(`${text} is not an address: it should be 0x and 40 hexadecimal digits.`);
  }
  const digits = text.slice(2);
  const lower = digits.toLowerCase();
  if (digits !== lower && digits !== digits.toUpperCase() && text !== checksummed(lower)) {
    throw new TypeError(`${text} has a wrong checksum: check it for a typing error.`);
  }
  return lower;
}

/** Returns the address with its checksum (EIP-55). */
function checksummed(digits: string): string {
  const marks = hex(keccak256(new TextEncoder().encode(digits)));
  return `0x${[...digits].map((digit, at) => (parseInt(marks[at]!, 16) > 7 ? digit.toUpperCase() : digit)).join("")}`;
}

function wordDigits(text: string, name: string): string {
  const word = bytes(text, name);
  if (word.length !== 32) throw new TypeError(`${name} should have 32 bytes, but has ${word.length}.`);
  return hex(word);
}

function bytes(text: string, name: string): Uint8Array {
  if (typeof text !== "string" || !/^0x(?:[0-9a-fA-F]{2})*$/.test(text)) {
    throw new TypeError(`${name} should be 0x and hexadecimal digits.`);
  }
  return new Uint8Array(Buffer.from(text.slice(2), "hex"));
}

function hex(data: Uint8Array): string {
  return Buffer.from(data).toString("hex");
}
