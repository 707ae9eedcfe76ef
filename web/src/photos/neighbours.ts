import { type Details, detailsOf } from "./details.ts";
import type { Picture, Source } from "./source.ts";

/** Returns a picture by its id: from the timeline if it is loaded there, else from its details. */
export async function pictureOf(source: Source, id: string): Promise<Picture> {
  return source.picture(source.indexOf(id)) ?? fromDetails(await detailsOf(id, source.search()));
}

/** Returns the next (1) or previous (-1) picture of a timeline, if there is one. */
export async function neighbourOf(source: Source, id: string, by: -1 | 1): Promise<Picture | null> {
  const index = source.indexOf(id);
  if (index >= 0) return source.fetchPicture(index + by);
  const { previous, next } = await detailsOf(id, source.search());
  const other = by > 0 ? next : previous;
  return other ? pictureOf(source, other).catch(() => null) : null;
}

function fromDetails({ id, file, width, height, placeholder, taken }: Details): Picture {
  const ratio = width > 0 && height > 0 ? Math.round((width * 1000) / height) : 0;
  return { id, file, ratio, placeholder: placeholder?.thumbhash ?? null, colour: placeholder?.colour ?? null, date: taken.slice(0, 10) };
}
