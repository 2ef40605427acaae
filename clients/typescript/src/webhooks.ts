/**
 * Verifies that a delivery comes from Quittance. Needs no network and no framework.
 *
 * The header is `Service-Signature: t=<Unix seconds>,v1=<hex>`. The hex is the HMAC-SHA256 of the timestamp, a dot and
 * the raw body. The HMAC's key is the webhook secret. For 24 hours after a rotation, there is a `v1=` for each secret.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

import { SignatureVerificationError } from "./errors.js";
import { readEvent } from "./events.js";
import type { Event } from "./objects.js";

export const TOLERANCE_SECONDS = 300;

const FORM = "it should be t=<Unix seconds>,v1=<64 hexadecimal digits>";

export interface VerifyOptions {
  /** The maximum difference between the signature's time and now, in seconds. */
  tolerance?: number;
  /** Unix seconds. Default: now. */
  now?: number;
}

/**
 * Returns the event in `rawBody`, if `signatureHeader` has a valid signature of these bytes.
 *
 * `rawBody` is the body before any parsing. `signatureHeader` is the value of `Service-Signature`. With several
 * secrets, one match is enough. Throws SignatureVerificationError with the reason in its message. Throws TypeError for
 * invalid arguments, such as an empty secret.
 */
export function verify(
  rawBody: Uint8Array | ArrayBuffer,
  signatureHeader: string | null | undefined,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Event {
  const body = bytesOf(rawBody);
  const secrets = secretsOf(secret);
  const tolerance = options.tolerance ?? TOLERANCE_SECONDS;
  if (!(tolerance >= 0)) throw new TypeError("tolerance should be a number of seconds.");
  const { timestamp, digests } = parse(signatureHeader);
  const distance = Math.abs((options.now ?? Date.now() / 1000) - Number(timestamp));
  if (!(distance <= tolerance)) {
    throw new SignatureVerificationError(
      `The signature's timestamp is ${Math.round(distance)} s from now, and ${tolerance} s are allowed. ` +
        "Is the clock of this machine right?",
    );
  }
  if (!isSigned(timestamp, body, secrets, digests)) {
    throw new SignatureVerificationError(
      "No signature matches the body. Check that you use the endpoint's secret and the raw, unparsed body.",
    );
  }
  return eventIn(body);
}

/** Returns a header value that signs `rawBody`, with a `v1` for each secret. Use it to test your endpoint. */
export function sign(
  rawBody: Uint8Array | ArrayBuffer,
  secret: string | readonly string[],
  timestamp: number = Math.floor(Date.now() / 1000),
): string {
  const body = bytesOf(rawBody);
  const signatures = secretsOf(secret).map((each) => `v1=${digest(String(timestamp), body, each).toString("hex")}`);
  return [`t=${timestamp}`, ...signatures].join(",");
}

function bytesOf(body: Uint8Array | ArrayBuffer): Uint8Array {
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  const what = body === null ? "null" : typeof body;
  throw new TypeError(`rawBody should be the raw bytes of the request (a Buffer or Uint8Array), not ${what}.`);
}

/** Rejects an empty secret, because everyone could sign with it. */
function secretsOf(secret: string | readonly string[]): readonly string[] {
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (!Array.isArray(secrets) || !secrets.length || !secrets.every((each) => typeof each === "string" && each)) {
    throw new TypeError("secret should be the endpoint's whsec_… or several of them; got an empty one.");
  }
  return secrets;
}

function parse(header: string | null | undefined): { timestamp: string; digests: Buffer[] } {
  if (!header) throw new SignatureVerificationError("There is no Service-Signature header.");
  const timestamps: string[] = [];
  const digests: Buffer[] = [];
  for (const part of String(header).split(",")) {
    const [, name, value] = /^\s*([^=]*)=(.*?)\s*$/.exec(part) ?? [];
    if (name === "t") timestamps.push(value ?? "");
    else if (name === "v1" && /^[0-9a-f]{64}$/.test(value ?? "")) digests.push(Buffer.from(value ?? "", "hex"));
  }
  const [timestamp] = timestamps;
  if (timestamps.length !== 1 || timestamp === undefined || !/^[0-9]{1,12}$/.test(timestamp)) {
    throw new SignatureVerificationError(`The Service-Signature header has no timestamp; ${FORM}.`);
  }
  if (!digests.length) {
    throw new SignatureVerificationError(`The Service-Signature header has no v1 signature; ${FORM}.`);
  }
  return { timestamp, digests };
}

/** Compares each signature with each key in constant time, and doesn't stop at the first match. */
function isSigned(timestamp: string, body: Uint8Array, secrets: readonly string[], digests: Buffer[]): boolean {
  let matches = 0;
  for (const secret of secrets) {
    const ours = digest(timestamp, body, secret);
    for (const theirs of digests) matches += Number(timingSafeEqual(ours, theirs));
  }
  return matches > 0;
}

function digest(timestamp: string, body: Uint8Array, secret: string): Buffer {
  return createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest();
}

function eventIn(body: Uint8Array): Event {
  try {
    return readEvent(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)));
  } catch (error) {
    throw new SignatureVerificationError(`The signed body is not an event: ${(error as Error).message}`);
  }
}
