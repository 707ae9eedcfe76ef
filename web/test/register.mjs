// Lets `node --test` run TypeScript: esbuild removes the types.
import { register } from "node:module";

register("./loader.mjs", import.meta.url);
