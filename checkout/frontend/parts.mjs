// Builds the parts of the page's script that are loaded later. Only the main script contains the modules in
// `src/shared.ts`. The parts import them from it, so no customer loads a module twice.
import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const PARTS = { deposit: "src/deposit/main.ts", pay: "src/pay/main.ts", solana: "src/solana/main.ts", sponsored: "src/sponsored/main.ts" };
const folder = dirname(fileURLToPath(import.meta.url));
const source = resolve(folder, "src");
const listed = [...readFileSync(resolve(source, "shared.ts"), "utf8").matchAll(/from "\.\/(.+)"/g)].map(([, name]) => name);
const shared = new Set(listed);

const usesThePages = {
  name: "shared",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) => {
      const name = relative(source, resolve(resolveDir, path));
      return shared.has(name) ? { path: name, namespace: "shared" } : undefined;
    });
    onLoad({ filter: /.*/, namespace: "shared" }, ({ path }) => ({
      contents: `module.exports = window.checkoutModules[${JSON.stringify(path)}];`,
      loader: "js",
    }));
  },
};

const usual = { absWorkingDir: folder, bundle: true, logLevel: "error", metafile: true };
const looks = { format: "esm", minify: true, target: "es2020", charset: "utf8", legalComments: "none" };
const { metafile } = await build({ ...usual, ...looks, entryPoints: PARTS, outdir: "../static/checkout", plugins: [usesThePages] });
const page = await build({ ...usual, entryPoints: ["src/main.ts"], write: false });
const twice = Object.keys(metafile.inputs).filter((name) => name in page.metafile.inputs);
if (twice.length > 0) throw new Error(`Customers would load these twice. Add them to src/shared.ts: ${twice.join(", ")}`);
