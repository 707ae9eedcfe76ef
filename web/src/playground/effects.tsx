import { useRef } from "preact/hooks";

import { t } from "../i18n/messages.ts";
import { Check, Choice, Field, type Props, Row, Slider } from "./fields.tsx";
import { EFFECTS } from "./recipe.ts";

const KERNELS = ["nearest", "linear", "cubic"] as const;
/** Ranges of the sliders: minimum, maximum, step, and the value without effect. The server accepts more. */
const RANGES = {
  gamma: [0.1, 4, 0.1, 1],
  brightness: [-100, 300, 5, 0],
  contrast: [-100, 300, 5, 0],
  saturation: [-100, 300, 5, 0],
  blur: [0, 50, 0.5, 0],
  sharpen: [0, 10, 0.5, 0],
  pixelate: [0, 100, 1, 0],
  pad: [0, 200, 1, 0],
  round: [0, 500, 5, 0],
} as const;
/** Colours that the pickers show if the URL has none. */
const COLOURS = { bg: ["ffffff"], duotone: ["000000", "ffffff"] } as const;

/** Controls of the operations on pixels, in the order in which the server executes them. */
export function Effects({ recipe, problem, change }: Props) {
  const row = { recipe, problem, change };
  const isOpen = useRef([...EFFECTS, "kernel" as const, "page" as const, "animation" as const, "frame" as const].some((name) => recipe[name] !== ""));
  const amount = (name: keyof typeof RANGES) => (
    <Row {...row} names={[name]}>
      <Field {...row} name={name} />
      <Slider {...row} name={name} range={RANGES[name]} />
    </Row>
  );
  return (
    <details class="play-effects" open={isOpen.current}>
      <summary>{t("play.effects")}</summary>
      <Row {...row} names={["kernel", "page"]}>
        <Choice {...row} name="kernel" first="lanczos3" values={KERNELS} />
        <Field {...row} name="page" />
      </Row>
      <Row {...row} names={["animation", "frame", "trim"]}>
        <Choice {...row} name="animation" first="all" values={["first"]} />
        <Field {...row} name="frame" />
        <Field {...row} name="trim" />
      </Row>
      {amount("gamma")}
      {amount("brightness")}
      {amount("contrast")}
      {amount("saturation")}
      <Row {...row} names={["grayscale", "sepia", "invert"]}>
        <Check {...row} name="grayscale" />
        <Check {...row} name="sepia" />
        <Check {...row} name="invert" />
      </Row>
      <Colours {...row} name="duotone" />
      {amount("blur")}
      {amount("sharpen")}
      <Row {...row} names={["unsharp"]}>
        <Field {...row} name="unsharp" />
      </Row>
      {amount("pixelate")}
      <Colours {...row} name="bg" />
      {amount("pad")}
      {amount("round")}
    </details>
  );
}

/** Field of one colour or several, with pickers. */
function Colours({ name, ...row }: Props & { name: keyof typeof COLOURS }) {
  const { recipe, change } = row;
  const usual: readonly string[] = COLOURS[name];
  const typed = recipe[name].split(",");
  const shown = usual.map((colour, index) => sixDigits(typed[index] ?? "") ?? colour);
  return (
    <Row {...row} names={[name]}>
      <Field {...row} name={name} />
      <div class="play-colours">
        {shown.map((colour, index) => (
          <input
            type="color"
            value={`#${colour}`}
            aria-label={`${t("play.colour", { name: t(`play.${name}`) })} ${index + 1}`}
            onInput={(event) => change(name, shown.map((it, at) => (at === index ? event.currentTarget.value.slice(1) : it)).join(","))}
          />
        ))}
      </div>
    </Row>
  );
}

/** Returns a colour with 6 digits, without its alpha, or `null` for other texts. */
function sixDigits(text: string): string | null {
  const [, short, long] = /^(?:([\da-f]{3})[\da-f]?|([\da-f]{6})(?:[\da-f]{2})?)$/i.exec(text) ?? [];
  return short?.replace(/./g, "$&$&") ?? long ?? null;
}
