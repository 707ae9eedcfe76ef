import { tintOf } from "./colour.ts";
import type { Placeholder } from "./types.ts";

/** Returns CSS custom properties that give a view the colours of a cover, in both schemes. */
export function tintStyle(placeholder: Placeholder | undefined): Record<string, string> {
  if (!placeholder) return {};
  const [light, dark] = [tintOf(placeholder.colour, "light"), tintOf(placeholder.colour, "dark")];
  const both = (name: keyof typeof light) => `light-dark(${light[name]}, ${dark[name]})`;
  return { "--tint": both("ground"), "--accent": both("accent"), "--on-accent": both("onAccent") };
}
