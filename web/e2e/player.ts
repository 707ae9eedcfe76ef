import type { Locator } from "playwright-core";

import { text } from "./messages.ts";
import type { Album } from "./music.ts";
import type { Visit } from "./visit.ts";

/** Opens an album from the list of albums, and plays it. Returns the player. */
export async function playAlbum(visit: Visit, { title, artist }: Album): Promise<Locator> {
  const { page, variant } = visit;
  await visit.open("music/albums");
  const main = page.getByRole("main");
  await main.getByRole("link", { name: `${title} ${artist}` }).click();
  await visit.ready();
  await main.getByRole("button", { name: text(variant, "music.play"), exact: true }).first().click();
  const player = visit.role("region", text(variant, "music.player"));
  await player.waitFor();
  return player;
}
