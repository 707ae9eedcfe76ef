import { useSignal } from "@preact/signals";

import { duration, number, t } from "../i18n/messages.ts";
import { IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { cycleRepeat, isMuted, isPlaying, length, next, position, previous, queue, seek, toggle, toggleShuffle, volume } from "./player.ts";
import { Range } from "./range.tsx";

/** Distance of a jump by keyboard, in seconds. */
export const JUMP_S = 5;

/**
 * Buttons of the player: shuffle, previous, play, next, repeat. Like the slider for the position,
 * they run from left to right in all languages.
 */
export function Buttons() {
  const { repeat, given } = queue.value;
  return (
    <div class="player-buttons" dir="ltr">
      <IconButton icon="shuffle" label={t("music.shuffle")} pressed={given !== null} onClick={toggleShuffle} />
      <IconButton icon="previous" label={t("music.previous")} filled onClick={previous} />
      <PlayButton />
      <IconButton icon="next" label={t("music.next")} filled onClick={next} />
      <IconButton icon={repeat === "one" ? "repeatOne" : "repeat"} label={t(`music.repeat.${repeat}`)} pressed={repeat !== "off"} onClick={cycleRepeat} />
    </div>
  );
}

/** Button that plays and pauses. */
export function PlayButton() {
  const label = t(isPlaying.value ? "music.pause" : "music.play");
  return (
    <button type="button" class="play" title={label} aria-label={label} onClick={toggle}>
      <Icon name={isPlaying.value ? "pause" : "play"} filled={!isPlaying.value} />
    </button>
  );
}

/** Slider for the position, with the times beside it. */
export function Seek() {
  const dragged = useSignal<number | null>(null);
  const at = dragged.value ?? position.value;
  const [now, whole] = [duration(at * 1000), duration(length.value * 1000)];
  return (
    <div class="seek" dir="ltr">
      <span class="number dim">{now}</span>
      <Range
        label={t("music.seek")}
        value={at}
        max={length.value}
        step={0.1}
        text={t("music.positionText", { now, whole })}
        keyStep={JUMP_S}
        onDrag={(value) => (dragged.value = value)}
        onChange={(value) => {
          dragged.value = null;
          seek(value);
        }}
      />
      <span class="number dim">{whole}</span>
    </div>
  );
}

/** Button that mutes, and the slider for the loudness. */
export function Volume() {
  const loudness = isMuted.value ? 0 : volume.value;
  return (
    <div class="volume">
      <IconButton icon={loudness === 0 ? "mute" : "volume"} label={t("music.mute")} pressed={isMuted.value} onClick={() => (isMuted.value = !isMuted.value)} />
      <Range
        label={t("music.volume")}
        value={loudness}
        max={1}
        step={0.01}
        text={number(loudness, { style: "percent" })}
        keyStep={0.05}
        onChange={(value) => {
          isMuted.value = false;
          volume.value = value;
        }}
      />
    </div>
  );
}
