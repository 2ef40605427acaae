// Compiles the proof. The files are where the prover reads them: OUT/FILE.sol/CONTRACT.json. Run: node build.js OUT
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { compileSources, SHIPPED } = require("../compile.js");

const FOLDERS = [path.dirname(__dirname), __dirname];

const sources = {};
for (const folder of FOLDERS) {
  for (const file of fs.readdirSync(folder).filter((name) => name.endsWith(".sol"))) {
    const name = path.relative(path.dirname(__dirname), path.join(folder, file));
    sources[name] = { content: fs.readFileSync(path.join(folder, file), "utf8") };
  }
}
// If the environment contains the source of a mutant, compile the mutant.
if (process.env.FORWARDER) sources["Forwarder.sol"].content = process.env.FORWARDER;
const output = compileSources(sources, SHIPPED, ["metadata", "evm.methodIdentifiers", "storageLayout"]);
const out = process.argv[2];
for (const [name, contracts] of Object.entries(output.contracts)) {
  const folder = path.join(out, path.basename(name));
  fs.mkdirSync(folder, { recursive: true });
  for (const [contract, compiled] of Object.entries(contracts)) {
    const { abi, evm, metadata, storageLayout } = compiled;
    const { ast, id } = output.sources[name];
    const file = {
      abi,
      bytecode: { object: `0x${evm.bytecode.object}`, linkReferences: {} },
      deployedBytecode: { object: `0x${evm.deployedBytecode.object}`, linkReferences: {} },
      methodIdentifiers: evm.methodIdentifiers,
      metadata: JSON.parse(metadata),
      storageLayout,
      ast,
      id,
    };
    fs.writeFileSync(path.join(folder, `${contract}.json`), JSON.stringify(file));
  }
}
