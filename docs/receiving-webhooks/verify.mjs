import { createHmac, timingSafeEqual } from "node:crypto";

const TOLERANCE_SECONDS = 300;

/** Not signed by Quittance, or too old. Respond with 400 and change nothing. */
export class InvalidSignature extends Error {}

/** Returns the event in `body` (the raw bytes) if `header`, the Service-Signature, signs it; else throws. */
export function verify(header, body, secret, now = Date.now() / 1000) {
  if (!secret) throw new Error("The webhook secret is not set."); // anyone could sign with an empty one
  if (!(body instanceof Uint8Array)) throw new TypeError("The body should be raw bytes, not a string or an object.");
  const fields = (header ?? "").split(",").map((field) => {
    const [name, ...value] = field.split("=");
    return [name, value.join("=")];
  });
  const { t: timestamp = "" } = Object.fromEntries(fields);
  if (!/^[0-9]{1,12}$/.test(timestamp)) throw new InvalidSignature("The header is not t=<seconds>,v1=<hex>.");
  if (Math.abs(now - Number(timestamp)) > TOLERANCE_SECONDS) {
    throw new InvalidSignature("Signed too long ago, or in the future.");
  }
  const expected = Buffer.from(createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex"));
  // While a secret is being rotated there are several v1=; one match is enough.
  const signatures = fields.filter(([name]) => name === "v1").map(([, value]) => Buffer.from(value));
  if (!signatures.some((each) => each.length === expected.length && timingSafeEqual(each, expected))) {
    throw new InvalidSignature("No signature matches.");
  }
  return JSON.parse(Buffer.from(body).toString("utf8"));
}
