// Compiles the contracts beside this file into artifacts.json: {name: {abi, bytecode}}.
// Run: npm ci && npm run build. The result is committed, so only who changes a contract needs it.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const solc = require("solc");

const files = fs.readdirSync(__dirname).filter((file) => file.endsWith(".sol")).sort();
const sources = Object.fromEntries(
  files.map((file) => [file, { content: fs.readFileSync(path.join(__dirname, file), "utf8") }]),
);
const settings = {
  evmVersion: "paris",
  optimizer: { enabled: true, runs: 200 },
  metadata: { bytecodeHash: "none" }, // so that a comment does not change the bytes
  outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
};

const output = JSON.parse(solc.compile(JSON.stringify({ language: "Solidity", sources, settings })));
for (const problem of output.errors ?? []) console.error(problem.formattedMessage);
if ((output.errors ?? []).some((problem) => problem.severity === "error")) process.exit(1);

const artifacts = {};
for (const file of files) {
  for (const [name, contract] of Object.entries(output.contracts[file])) {
    artifacts[name] = { abi: contract.abi, bytecode: `0x${contract.evm.bytecode.object}` };
  }
}
fs.writeFileSync(path.join(__dirname, "artifacts.json"), `${JSON.stringify(artifacts, null, 1)}\n`);
console.log(`artifacts.json: ${Object.keys(artifacts).join(", ")}`);
