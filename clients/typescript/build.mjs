// Builds dist/esm (for `import`) and dist/cjs (for `require`) from src.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = new URL(".", import.meta.url);
const compiler = fileURLToPath(new URL("node_modules/.bin/tsc", here));
rmSync(new URL("dist", here), { recursive: true, force: true });
for (const [folder, type, config] of [
  ["esm", "module", "tsconfig.json"],
  ["cjs", "commonjs", "tsconfig.cjs.json"],
]) {
  execFileSync(compiler, ["-p", config], { cwd: here, stdio: "inherit" });
  writeFileSync(new URL(`dist/${folder}/package.json`, here), JSON.stringify({ type }) + "\n");
}
