import { t } from "../i18n/messages.ts";
import { LETTERS, type Letter } from "./letters.ts";

/** Index of letters that scrolls a sorted list. */
export function LettersBar({ onChoose }: { onChoose: (letter: Letter) => void }) {
  return (
    <nav class="letters" aria-label={t("music.letters")}>
      {LETTERS.map((letter) => (
        <button type="button" onClick={() => onChoose(letter)}>
          {letter.label}
        </button>
      ))}
    </nav>
  );
}
