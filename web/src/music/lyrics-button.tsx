import { t } from "../i18n/messages.ts";

/**
 * Button that shows the lyrics. Its icon is not in the list of icons, which is part of the first
 * view.
 */
export function LyricsButton({ isPressed, onClick }: { isPressed?: boolean; onClick: () => void }) {
  const label = t("music.lyrics");
  return (
    <button type="button" class="icon-button" title={label} aria-label={label} aria-pressed={isPressed} onClick={onClick}>
      <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
        <path d="M4 5h16v11h-9l-4 4v-4H4z M8 9h8 M8 12h5" />
      </svg>
    </button>
  );
}
