// Compiles folders of contracts with the pinned solc: {file: {contract: solc's output}}.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const solc = require("solc");

const SETTINGS = {
  evmVersion: "paris", // no PUSH0, which some chains don't know
  optimizer: { enabled: true, runs: 200 },
  metadata: { bytecodeHash: "none" }, // so that a comment does not change the bytes
};

// The settings of shipped contracts keep the code small, because each deposit address pays for each byte of its code.
exports.SHIPPED = { ...SETTINGS, viaIR: true, metadata: { bytecodeHash: "none", appendCBOR: false } };

/** Compile all contracts of a folder. `extra` are outputs of solc beside the ABI and the code. */
exports.compile = (folder, settings = SETTINGS, extra = []) => {
  const files = fs.readdirSync(folder).filter((file) => file.endsWith(".sol")).sort();
  const sources = Object.fromEntries(
    files.map((file) => [file, { content: fs.readFileSync(path.join(folder, file), "utf8") }]),
  );
  return exports.compileSources(sources, settings, extra);
};

/** Compile `sources`, in solc's input format: {name: {content}}. Ends the process after an error. */
exports.compileSources = (sources, settings, extra = []) => {
  const outputs = ["abi", "evm.bytecode.object", "evm.deployedBytecode.object", ...extra];
  const outputSelection = { "*": { "*": outputs, "": ["ast"] } };
  const input = { language: "Solidity", sources, settings: { ...settings, outputSelection } };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  for (const problem of output.errors ?? []) console.error(problem.formattedMessage);
  if ((output.errors ?? []).some((problem) => problem.severity === "error")) process.exit(1);
  return output;
};
