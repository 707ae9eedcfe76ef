import type { Signal } from "@preact/signals";

import { t } from "../i18n/messages.ts";
import { setQuality } from "./player.ts";
import { GAIN_MODES, QUALITIES, gainMode, quality } from "./sound.ts";

/** Choice of the quality and of the gain of the music. */
export function SoundChoice() {
  return (
    <div class="now-sound">
      <Choice
        label={t("music.quality")}
        value={quality}
        options={QUALITIES}
        name={(it) => (it === "original" ? t("music.quality.original") : t("music.quality.opus", { kbps: it }))}
        onChoose={setQuality}
      />
      <Choice
        label={t("music.gain")}
        value={gainMode}
        options={GAIN_MODES}
        name={(it) => t(`music.gain.${it}`)}
        onChoose={(mode) => (gainMode.value = mode)}
      />
    </div>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: Signal<T>;
  options: readonly T[];
  name: (option: T) => string;
  onChoose: (option: T) => void;
}

function Choice<T extends string>({ label, value, options, name, onChoose }: ChoiceProps<T>) {
  return (
    <select class="input" aria-label={label} title={label} value={value.value} onChange={(event) => onChoose(event.currentTarget.value as T)}>
      {options.map((it) => (
        <option value={it} selected={it === value.value}>
          {name(it)}
        </option>
      ))}
    </select>
  );
}
