import { signal } from "@preact/signals";

/** Files of the selected pictures by their ids, in the order of the selection. */
export const selection = signal<ReadonlyMap<string, string>>(new Map());

/** Ids of the user's favourite pictures. */
export const favourites = signal<ReadonlySet<string>>(new Set());

/** Selects or deselects pictures. */
export function select(pictures: readonly { id: string; file: string }[], isSelected: boolean): void {
  const next = new Map(selection.value);
  for (const { id, file } of pictures) {
    if (isSelected) next.set(id, file);
    else next.delete(id);
  }
  selection.value = next;
}

export function clearSelection(): void {
  if (selection.value.size > 0) selection.value = new Map();
}
