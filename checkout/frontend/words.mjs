// Extracts the messages of `quittance.js` from those of the checkout. So its digest doesn't change with other messages.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const KEYS = ["page.payment", "shop.close", "shop.opening", "shop.openPage", "shop.elsewhere"];
const folder = new URL("../messages/", import.meta.url);
const words = {};
for (const name of readdirSync(folder).sort()) {
  const messages = JSON.parse(readFileSync(new URL(name, folder), "utf8"));
  words[name.replace(".json", "")] = KEYS.map((key) => messages[key]);
}
const lines = Object.entries(words).map(([tag, said]) => `  ${JSON.stringify(tag)}: ${JSON.stringify(said)}`);
writeFileSync(new URL("src/shop/words.json", import.meta.url), `{\n${lines.join(",\n")}\n}\n`);
