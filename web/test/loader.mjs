import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

import { transform } from "esbuild";

export async function load(url, context, next) {
  const path = url.split("?")[0];
  if (path.endsWith(".json")) {
    const text = await readFile(fileURLToPath(path), "utf8");
    return { format: "module", source: `export default ${text};`, shortCircuit: true };
  }
  if (!/\.tsx?$/.test(path)) return next(url, context);
  const source = await readFile(fileURLToPath(path), "utf8");
  const { code } = await transform(source, {
    loader: path.endsWith("x") ? "tsx" : "ts",
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    sourcemap: "inline",
  });
  return { format: "module", source: code, shortCircuit: true };
}
