/**
 * Words of a User-Agent, each with the name of the browser that it means. The order matters: the
 * User-Agent of Edge contains the word Chrome too, and that of Chrome the word Safari.
 */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdgA?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(Firefox|FxiOS)\//, "Firefox"],
  [/\b(Chrome|CriOS|Chromium)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];

/** Words of a User-Agent, each with the name of the operating system that it means. */
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\bAndroid\b/, "Android"],
  [/\b(iPhone|iPad|iPod)\b/, "iOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

/**
 * Returns the browser and the system that a User-Agent names, such as `Firefox · Linux`, or the
 * User-Agent itself.
 */
export function agentName(agent: string): string {
  const named = [BROWSERS, SYSTEMS].map((table) => table.find(([word]) => word.test(agent))?.[1]);
  return named.filter((name) => name !== undefined).join(" · ") || agent;
}
