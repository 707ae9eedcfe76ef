import { t } from "../i18n/messages.ts";
import { IconButton } from "../ui/button.tsx";
import { downloadArchive } from "../ui/download.ts";
import { copyLinks, setFavourite } from "./actions.ts";
import { clearSelection, favourites, selection } from "./selection.ts";

/** Bar with the number of selected pictures, and with buttons for them. */
export function SelectionBar() {
  const ids = [...selection.value.keys()];
  if (ids.length === 0) return null;
  const areFavourites = ids.every((id) => favourites.value.has(id));
  return (
    <div class="select-bar" role="toolbar" aria-label={t("photos.selected", { count: ids.length })}>
      <IconButton icon="close" label={t("photos.clear")} onClick={clearSelection} />
      <strong role="status">{t("photos.selected", { count: ids.length })}</strong>
      <IconButton
        icon="heart"
        filled={areFavourites}
        label={t(areFavourites ? "photos.unfavourite" : "photos.favourite")}
        onClick={() => void setFavourite(ids, !areFavourites)}
      />
      <IconButton icon="link" label={t("photos.copyLinks")} onClick={() => void copyLinks(ids)} />
      <IconButton icon="download" label={t("photos.download")} onClick={() => downloadArchive(ids)} />
    </div>
  );
}
