/** Video of a list, and the videos beside it. */
interface Around<T> {
  readonly video: T | undefined;
  readonly previous: T | undefined;
  readonly next: T | undefined;
}

/** Returns the video with a name, and its neighbours in the list. */
export function around<T extends { readonly name: string }>(videos: readonly T[], name: string): Around<T> {
  const index = videos.findIndex((it) => it.name === name);
  const [video, previous, next] = index < 0 ? [] : [videos[index], videos[index - 1], videos[index + 1]];
  return { video, previous, next };
}
