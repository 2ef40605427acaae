// Compresses the built files with Brotli. Python's standard library doesn't have it. The name of a result contains a
// digest of the original. So `checkout/static_files.py` never serves it for another build.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";

const built = new URL("../static/checkout/", import.meta.url);
const folder = new URL("../brotli/", import.meta.url);
mkdirSync(folder, { recursive: true });
const stale = new Set(readdirSync(folder));
for (const name of readdirSync(built)) {
  if (!/\.(js|css)$/.test(name)) continue;
  const content = readFileSync(new URL(name, built));
  const target = `${name}.${createHash("sha256").update(content).digest("hex").slice(0, 16)}.br`;
  // If a file hasn't changed, it is not compressed again, because another release of Node.js may produce other bytes.
  if (stale.delete(target)) continue;
  const params = { [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT, [constants.BROTLI_PARAM_QUALITY]: 11 };
  writeFileSync(new URL(target, folder), brotliCompressSync(content, { params }));
}
for (const name of stale) rmSync(new URL(name, folder));
