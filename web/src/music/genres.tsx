import { t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { Failure, Message } from "../ui/message.tsx";
import { useLoaded } from "./load.ts";
import { tintStyle } from "./tint.ts";
import type { Genre, Page } from "./types.ts";

/** All genres, as tiles. */
export function Genres() {
  const { value, error, reload } = useLoaded<Page<Genre>>("/genres?limit=500");
  if (error.value) return <Failure error={error.value} retry={reload} />;
  if (value.value?.total === 0) return <Message icon="music" title={t("music.noGenres")} />;
  return (
    <>
      <div class="view-head">
        <h1>{t("music.genres")}</h1>
      </div>
      <ul class="tiles">
        {value.value
          ? value.value.items.map((genre) => (
              <li key={genre.name}>
                <a href={href(`music/genres/${encodeURIComponent(genre.name)}`)} style={tintStyle({ colour: colourOf(genre.name) })}>
                  <b dir="auto">{genre.name}</b>
                  <span class="dim">{t("music.albumCount", { count: genre.albums })}</span>
                </a>
              </li>
            ))
          : Array.from({ length: 12 }, () => <li class="skeleton" />)}
      </ul>
    </>
  );
}

/** Returns a colour for a name, always the same. */
function colourOf(name: string): string {
  let hash = 0;
  for (const sign of name) hash = (hash * 31 + (sign.codePointAt(0) ?? 0)) >>> 0;
  // The multiplication gives different colours to names that differ in few letters.
  hash = Math.imul(hash, 2654435761) >>> 0;
  const part = (shift: number) => (((hash >>> shift) & 127) + 64).toString(16).padStart(2, "0");
  return `#${part(0)}${part(7)}${part(14)}`;
}
