// Writes a file with the licences of the packages in walletconnect.js. Fails if one of them is not a free licence.

import { readFileSync, readdirSync, writeFileSync } from "node:fs";

const FREE = ["Apache-2.0", "MIT", "ISC", "0BSD", "(Apache-2.0 AND MIT)"];
const FOREIGN = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//;

const { outputs } = JSON.parse(readFileSync("node_modules/.walletconnect.json", "utf8"));
const used = Object.values(outputs).flatMap(({ inputs }) =>
  Object.entries(inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0),
);
const folders = new Set(used.map(([path]) => FOREIGN.exec(path)?.[1]).filter(Boolean));

const packagesByText = new Map();
for (const folder of folders) {
  const { name, version, license, author } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  if (!FREE.includes(license)) throw new Error(`${name} ${version} is under ${license}: it can't be handed on.`);
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  const by = typeof author === "string" ? author : (author?.name ?? "its authors");
  const text = file ? readFileSync(`${folder}/${file}`, "utf8").trim() : `${license}, by ${by}.`;
  packagesByText.set(text, [...(packagesByText.get(text) ?? []), `${name} ${version} (${license})`]);
}

const sections = [...packagesByText].map(([text, packages]) => `${packages.sort().join("\n")}\n\n${text}\n`).sort();
const head = "walletconnect.js holds parts of these packages, unchanged but for being packed together.\n";
writeFileSync("../static/checkout/walletconnect.licences.txt", [head, ...sections].join(`\n${"=".repeat(80)}\n\n`));
