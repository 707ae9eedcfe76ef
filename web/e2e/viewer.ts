// Steps in the viewer that several journeys take.

import type { MessageKey } from "../src/i18n/messages.ts";
import { text } from "./messages.ts";
import type { Visit } from "./visit.ts";

/** Widths up to this one have the menu in the viewer's bar. */
const MENU_MAX = 720;

/** Returns whether the window is so narrow that the viewer's bar has a menu. */
export function isNarrow({ variant }: Visit): boolean {
  return variant.width <= MENU_MAX;
}

/** Presses the viewer's button for a command; narrow windows have the command in the menu of the bar. */
export async function chooseInViewer(visit: Visit, command: MessageKey): Promise<void> {
  const { variant } = visit;
  const name = text(variant, command);
  if (!isNarrow(visit)) {
    await visit.role("button", name).click();
    return;
  }
  await visit.role("button", text(variant, "viewer.more")).click();
  await visit.role("menuitem", name).click();
}
