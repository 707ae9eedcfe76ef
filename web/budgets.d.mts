export function staticImports(code: string): string[];
export function dynamicImports(code: string): string[];
export function loadedWith(name: string, files: ReadonlyMap<string, Buffer>): Set<string>;
export function areasOf(source: string): { path: string; module: string }[];
export function rows(files: ReadonlyMap<string, Buffer>, areas: readonly { path: string; module: string }[]): { name: string; bytes: number; max: number }[];
