import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import test from "node:test";

import * as imported from "quittance";

const require = createRequire(import.meta.url);

test("import and require give the same names", () => {
  const required = require("quittance");
  assert.deepEqual(Object.keys(required).sort(), Object.keys(imported).sort());
  assert.equal(typeof required.webhooks.verify, "function");
});

test("the version is the package's, and nothing is depended upon", () => {
  const { version, dependencies } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  assert.equal(imported.VERSION, version);
  assert.equal(dependencies, undefined);
});
