/** Link that gives access to one part of the library without a login. */
export interface Share {
  readonly id: string;
  /** Target of the link. */
  readonly url: string;
  readonly kind: "photo" | "folder" | "album" | "playlist" | "tracks";
  /** Name of the shared object; `null` if the object is gone or has no name. */
  readonly name: string | null;
  readonly description: string;
  /** Name of the user who shares. */
  readonly owner: string;
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
  /** True for a folder that contains only videos; videos are always shared as originals. */
  readonly hasOnlyVideos?: boolean;
}

/** Returns the target of the request that creates a share. */
export function createShareTarget({ item, folder }: Subject, choice: { days: number; description: string; originals: boolean }): string {
  const query = new URLSearchParams(item === undefined ? { folder: folder ?? "" } : { item });
  query.set("days", String(choice.days));
  if (choice.description.trim()) query.set("description", choice.description.trim());
  if (choice.originals) query.set("originals", "1");
  return `/shares?${query}`;
}
