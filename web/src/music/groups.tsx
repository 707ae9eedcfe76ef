import { number, t } from "../i18n/messages.ts";
import { href } from "../router.ts";
import { Failure, Message } from "../ui/message.tsx";
import { useLoaded } from "./load.ts";
import { tintStyle } from "./tint.ts";
import type { Group, Page } from "./types.ts";

/** Number of tiles that are loaded: the most that the server sends at once. */
const TILES_MAX = 500;

/** All genres, years or composers, as tiles. */
export function Groups({ kind }: { kind: "genres" | "years" | "composers" }) {
  const { value, error, reload } = useLoaded<Page<Group>>(`/${kind}?limit=${TILES_MAX}`);
  if (error.value) return <Failure error={error.value} retry={reload} />;
  if (value.value?.total === 0) return <Message icon="music" title={t(`music.no.${kind}`)} />;
  return (
    <>
      <div class="view-head">
        <h1>{t(`music.${kind}`)}</h1>
        {value.value && value.value.total > TILES_MAX && <span class="dim">{t("music.firstTiles", { count: TILES_MAX, total: value.value.total })}</span>}
      </div>
      <ul class="tiles">
        {value.value
          ? value.value.items.map((group) => {
              const name = nameOf(group);
              return (
                <li key={name}>
                  <a href={href(`music/${kind}/${encodeURIComponent(name)}`)} style={tintStyle({ colour: colourOf(name) })}>
                    <b dir="auto">{group.year === undefined ? name : number(group.year, { useGrouping: false })}</b>
                    <span class="dim">{t("music.albumCount", { count: group.albums })}</span>
                  </a>
                </li>
              );
            })
          : Array.from({ length: 12 }, () => <li class="skeleton" />)}
      </ul>
    </>
  );
}

function nameOf({ name, year }: Group): string {
  return name ?? String(year);
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
