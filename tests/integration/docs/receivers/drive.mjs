// Verify each delivery on standard input with the sample at the path in the argument; print the results.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { InvalidSignature, verify } = await import(pathToFileURL(process.argv[2]));

const verdicts = JSON.parse(readFileSync(0, "utf8")).map(({ header, body, secret, now }) => {
  const value = header === null ? undefined : Buffer.from(header, "base64").toString("latin1");
  try {
    const { id, type, data } = verify(value, Buffer.from(body, "base64"), secret, now);
    return [id, type, data.object.reference, data.object.amount_details.raw];
  } catch (error) {
    if (error instanceof InvalidSignature) return "refused";
    if (error.message === "The webhook secret is not set.") return "no secret";
    throw error;
  }
});
console.log(JSON.stringify(verdicts));
