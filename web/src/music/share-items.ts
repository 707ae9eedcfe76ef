import { t } from "../i18n/messages.ts";
import { session } from "../session.ts";
import { openShare } from "../share/open.ts";
import type { MenuItem } from "../ui/menu.tsx";

/** Returns the entries of a menu that share an album or a playlist. Guests have none. */
export function shareItems(item: string, name: string): readonly MenuItem[] {
  if (session.value.name === null) return [];
  return [{ icon: "link", label: t("music.share"), run: () => void openShare({ item, name }) }];
}
