import { effect, signal } from "@preact/signals";

import { api } from "../api.ts";
import { t } from "../i18n/messages.ts";
import { session } from "../session.ts";
import { IconButton } from "../ui/button.tsx";
import { failureText } from "../ui/failure.ts";
import { toast } from "../ui/toast.tsx";

/** Ids of the user's favourites; `null` for guests, and until the server has responded. */
const ids = signal<ReadonlySet<string> | null>(null);

effect(() => {
  ids.value = null;
  if (session.value.name !== null) void load();
});

async function load(): Promise<void> {
  try {
    const lists = await api<Record<string, readonly string[]>>("/favourites");
    ids.value = new Set(Object.values(lists).flat());
  } catch {
    // Without a response, no hearts are shown.
  }
}

/**
 * Adds an object to the favourites, or removes it. If the server refuses, the old state is shown
 * again.
 */
export async function toggleFavourite(id: string): Promise<void> {
  const before = ids.value;
  if (before === null) return;
  const after = new Set(before);
  const isAdded = !after.delete(id);
  if (isAdded) after.add(id);
  ids.value = after;
  try {
    await api(`/favourites/${id}`, { method: isAdded ? "PUT" : "DELETE" });
  } catch (error) {
    ids.value = before;
    toast(failureText(error));
  }
}

/** Button that makes an object a favourite. Guests do not see it. */
export function Heart({ id }: { id: string }) {
  const favourites = ids.value;
  if (favourites === null) return null;
  const isFavourite = favourites.has(id);
  return <IconButton icon="heart" label={t("music.favourite")} filled={isFavourite} pressed={isFavourite} onClick={() => void toggleFavourite(id)} />;
}
