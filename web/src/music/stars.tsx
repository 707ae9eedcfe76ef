import { t } from "../i18n/messages.ts";
import { session } from "../session.ts";
import { Icon } from "../ui/icon.tsx";
import { rate, ratingOf } from "./player.ts";
import type { Track } from "./types.ts";

const VALUES = [1, 2, 3, 4, 5];

/**
 * Rating of a track. A press of a star sets the rating; a second press of the same star removes the
 * rating.
 */
export function Stars({ track }: { track: Track }) {
  const rating = ratingOf(track);
  if (session.value.name === null) return null;
  return (
    <span class="stars" role="group" data-rated={rating > 0 || undefined} aria-label={t("music.rating")}>
      {VALUES.map((value) => (
        <button
          type="button"
          title={t("music.stars", { count: value })}
          aria-label={t("music.stars", { count: value })}
          aria-pressed={value === rating}
          data-on={value <= rating || undefined}
          onClick={() => void rate(track, value === rating ? 0 : value)}
        >
          <Icon name="star" filled={value <= rating} />
        </button>
      ))}
    </span>
  );
}
