import { signal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";

import { loadMessages } from "../i18n/messages.ts";

/** Name of the queue in `localStorage`. */
export const QUEUE = "music.queue";

/** True once there is something to play. Until then no code of the player is loaded. */
export const isPlayerWanted = signal(wasUsed());

const bar = signal<FunctionComponent | null>(null);

/** Returns whether this browser has kept a queue that is not empty. */
function wasUsed(): boolean {
  try {
    return localStorage.getItem(`pelton.${QUEUE}`)?.includes('"file"') ?? false;
  } catch {
    return false;
  }
}

/** Container of the player, below all areas. */
export function PlayerSlot() {
  useEffect(
    () =>
      isPlayerWanted.subscribe((isWanted) => {
        // A failed import leaves the page as it is; the next track that is played tries again.
        if (isWanted && !bar.peek()) {
          Promise.all([import("./player-bar.tsx"), loadMessages("music")]).then(
            ([module]) => (bar.value = module.default),
            () => (isPlayerWanted.value = false),
          );
        }
      }),
    [],
  );
  const Bar = bar.value;
  return Bar ? <Bar /> : null;
}
