// Compiles the contracts in this folder, which are deployed on real chains, and those of the local world. Run: npm ci
// && npm run build. The results are committed, so you need it only after you change a contract.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { compile, SHIPPED } = require("./compile.js");

const ROOT = path.dirname(__dirname);

/** Write {name: {abi, bytecode}} of each contract in `folder`. `deployed` adds the code that a chain returns. */
function build(folder, target, { settings, deployed = false } = {}) {
  const artifacts = {};
  for (const contracts of Object.values(compile(folder, settings).contracts)) {
    for (const [name, { abi, evm }] of Object.entries(contracts)) {
      artifacts[name] = { abi, bytecode: `0x${evm.bytecode.object}` };
      if (deployed) artifacts[name].deployedBytecode = `0x${evm.deployedBytecode.object}`;
    }
  }
  fs.writeFileSync(path.join(ROOT, target), `${JSON.stringify(artifacts, null, 1)}\n`);
  console.log(`${target}: ${Object.keys(artifacts).join(", ")}`);
}

build(__dirname, "chains/families/evm/deposits/contracts.json", { settings: SHIPPED, deployed: true });
build(path.join(__dirname, "rehearsal"), "chains/families/evm/deposits/rehearsal.json", { settings: SHIPPED, deployed: true });
build(path.join(ROOT, "demo", "contracts"), "demo/contracts/artifacts.json");
