import { url } from "../base.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import type { Placeholder } from "./types.ts";

/** Widths in which covers are requested. */
const WIDTHS = [150, 300, 600];

interface CoverProps {
  /** Target of the picture; undefined if the object has no cover. */
  cover: string | undefined;
  placeholder?: Placeholder | undefined;
  /** Width on the page, as in the attribute `sizes`. */
  sizes: string;
  icon?: IconName;
  isRound?: boolean;
  onLoad?: () => void;
}

/** Square picture, or an icon without a cover. Decorative: its title stands beside it. */
export function Cover({ cover, placeholder, sizes, icon = "album", isRound, onLoad }: CoverProps) {
  const source = (width: number) => url(`${cover}?w=${width}`);
  return (
    <span class={isRound ? "art round" : "art"} style={placeholder ? { backgroundColor: placeholder.colour } : {}}>
      <Icon name={icon} />
      {cover && (
        <img
          key={cover}
          src={source(300)}
          srcset={WIDTHS.map((width) => `${source(width)} ${width}w`).join(", ")}
          sizes={sizes}
          alt=""
          loading="lazy"
          decoding="async"
          onLoad={onLoad}
          onError={(event) => (event.currentTarget.style.display = "none")}
        />
      )}
    </span>
  );
}
