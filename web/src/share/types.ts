/** Link under which everyone sees a part of the library. */
export interface Share {
  readonly id: string;
  /** Target of the link. */
  readonly url: string;
  readonly kind: "photo" | "folder" | "album" | "playlist" | "tracks";
  /** Name of what is shared; `null` if it is gone or has no name. */
  readonly name: string | null;
  readonly description: string;
  readonly expires: string | null;
  readonly expired: boolean;
  readonly visits: number;
}

/** Part of the library that a user wants to share. */
export interface Subject {
  /** Id of a photo, album or playlist. */
  readonly item?: string;
  /** Path of a folder. */
  readonly folder?: string;
  readonly name: string;
}

/** Returns the target of the request that creates a share. */
export function creation({ item, folder }: Subject, choice: { days: number; description: string; originals: boolean }): string {
  const query = new URLSearchParams(item === undefined ? { folder: folder ?? "" } : { item });
  query.set("days", String(choice.days));
  if (choice.description.trim()) query.set("description", choice.description.trim());
  if (choice.originals) query.set("originals", "1");
  return `/shares?${query}`;
}
