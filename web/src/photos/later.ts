import { signal } from "@preact/signals";

import { loadMessages } from "../i18n/messages.ts";

type More = typeof import("./photos-more.tsx");

/** Parts of the area that the first view does not need, once they are loaded. */
export const more = signal<More | null>(null);

/** Loads these parts. Returns whether that was possible; if not, the next call tries again. */
export async function loadMore(): Promise<boolean> {
  try {
    const [loaded] = await Promise.all([import("./photos-more.tsx"), loadMessages("photos")]);
    more.value ??= loaded;
    return true;
  } catch {
    return false;
  }
}
