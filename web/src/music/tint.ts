import { tintOf } from "./colour.ts";
import type { Look } from "./types.ts";

/** Returns CSS custom properties that give a view the colours of a cover, in both schemes. */
export function tintStyle(look: Look | undefined): Record<string, string> {
  if (!look) return {};
  const [light, dark] = [tintOf(look.colour, "light"), tintOf(look.colour, "dark")];
  const both = (name: keyof typeof light) => `light-dark(${light[name]}, ${dark[name]})`;
  return { "--tint": both("ground"), "--accent": both("accent"), "--on-accent": both("onAccent") };
}
