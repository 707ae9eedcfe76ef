import { api } from "../api.ts";
import { t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { session } from "../session.ts";
import { copy } from "../ui/copy.ts";
import { failureText } from "../ui/failure.ts";
import { toast } from "../ui/toast.tsx";
import { favourites } from "./selection.ts";

/** Loads the user's favourites. Guests have no favourites. */
export async function loadFavourites(): Promise<void> {
  if (session.value.name === null) {
    favourites.value = new Set();
    return;
  }
  const lists = await api<Record<string, unknown>>("/favourites").catch(() => null);
  const ids = lists ? Object.values(lists).flat() : [];
  favourites.value = new Set(ids.filter((id): id is string => typeof id === "string" && id.startsWith("ph-")));
}

/** Adds pictures to the favourites, or removes them. */
export async function setFavourite(ids: readonly string[], isFavourite: boolean): Promise<void> {
  try {
    for (const id of ids) {
      await api(`/favourites/${id}`, { method: isFavourite ? "PUT" : "DELETE" });
      const next = new Set(favourites.value);
      if (isFavourite) next.add(id);
      else next.delete(id);
      favourites.value = next;
    }
    if (isFavourite && ids.length > 1) toast(t("photos.favouritesAdded", { count: ids.length }));
  } catch (error) {
    // The page asks for a login by itself when the server wants one.
    toast(failureText(error));
  }
}

/** Copies the addresses of pictures' views, a line each. */
export async function copyLinks(ids: readonly string[]): Promise<void> {
  const text = ids.map((id) => new URL(href(`photos/${id}`), location.href).href).join("\n");
  const isCopied = await copy(text);
  toast(isCopied ? t("photos.copied", { count: ids.length }) : t("photos.notCopied"));
}
