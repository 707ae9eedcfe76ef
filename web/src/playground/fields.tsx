import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

import { t } from "../i18n/messages.ts";
import type { Problem } from "./problem.ts";
import type { Parameter, Recipe } from "./recipe.ts";

/** Range of a slider: minimum, maximum, step, and the value that it shows if the URL has none. */
export type Range = readonly [min: number, max: number, step: number, usual: number];

export interface Props {
  readonly recipe: Recipe;
  readonly problem: Problem | null;
  readonly change: (name: Parameter, value: string) => void;
}

/** Controls side by side, with a line below for the problem of one of them. */
export function Row({ names, problem, children }: Props & { names: readonly Parameter[]; children: ComponentChildren }) {
  const own = problem?.parameter && names.includes(problem.parameter) ? problem : null;
  return (
    <div class="play-row">
      <div>{children}</div>
      <p class="field-error" role="alert" id={`play-error-${names[0]}`} dir="auto">
        {own?.sentence}
      </p>
    </div>
  );
}

/** Map from each parameter that is not the first of its row to the first parameter of that row. */
const LINES: Readonly<Partial<Record<Parameter, Parameter>>> = {
  h: "w",
  dpr: "fit",
  focus: "crop",
  flop: "flip",
  q: "format",
  max_bytes: "format",
  page: "kernel",
  frame: "animation",
  trim: "animation",
  sepia: "grayscale",
  invert: "grayscale",
};

/** Returns the ARIA attributes of a control, which mark it invalid if the server refused its value. */
function invalid(name: Parameter, problem: Problem | null): Record<string, string> {
  return problem?.parameter === name ? { "aria-invalid": "true", "aria-describedby": `play-error-${LINES[name] ?? name}` } : {};
}

/** Input modes of the fields that hold numbers without a sign. */
const MODES: Readonly<Partial<Record<Parameter, "numeric" | "decimal">>> = {
  w: "numeric",
  h: "numeric",
  q: "numeric",
  max_bytes: "numeric",
  page: "numeric",
  frame: "numeric",
  trim: "numeric",
  pixelate: "numeric",
  dpr: "decimal",
  gamma: "decimal",
  blur: "decimal",
};
/** Placeholders of the fields whose default is not "auto": the default, or an example. */
const PLACEHOLDERS: Readonly<Partial<Record<Parameter, string>>> = {
  dpr: "1",
  crop: "16:9",
  focus: "0.5,0.5",
  rotate: "0",
  page: "1",
  gamma: "1",
  brightness: "0",
  contrast: "0",
  saturation: "0",
  duotone: "1f2e3d,ffeedd",
  blur: "0",
  sharpen: "0",
  unsharp: "2,1,0",
  pixelate: "0",
  bg: "ffffff",
  pad: "20,40",
  round: "max",
};

/** Parameters of each kind of control. */
type Flag = "enlarge" | "flip" | "flop" | "grayscale" | "sepia" | "invert";
type Choices = "fit" | "format" | "kernel" | "animation";
type Text = Exclude<Parameter, Flag | Choices>;

export function Check({ recipe, problem, change, name }: Props & { name: Flag }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={recipe[name] === "true"}
        {...invalid(name, problem)}
        onChange={(event) => change(name, event.currentTarget.checked ? "true" : "")}
      />
      <span>{t(`play.${name}`)}</span>
    </label>
  );
}

/** Slider beside the field of a parameter. Its usual value removes the parameter from the URL. */
export function Slider({ recipe, change, name, range: [min, max, step, usual] }: Props & { name: Text; range: Range }) {
  const value = parseFloat(recipe[name]);
  return (
    <input
      type="range"
      min={min}
      max={max}
      step={step}
      value={Number.isNaN(value) ? usual : value}
      aria-label={t("play.slider", { name: t(`play.${name}`) })}
      onInput={({ currentTarget }) => change(name, Number(currentTarget.value) === usual ? "" : currentTarget.value)}
    />
  );
}

export function Field({ recipe, problem, change, name }: Props & { name: Text }) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        {t(`play.${name}`)} <code>{name}</code>
      </label>
      <input
        id={id}
        inputMode={MODES[name] ?? "text"}
        autocomplete="off"
        dir="ltr"
        value={recipe[name]}
        placeholder={PLACEHOLDERS[name] ?? t("play.auto")}
        {...invalid(name, problem)}
        onInput={(event) => change(name, event.currentTarget.value.trim())}
      />
    </div>
  );
}

export function Choice({ recipe, problem, change, name, first, values }: Props & { name: Choices; first: string; values: readonly string[] }) {
  const id = useId();
  const present = recipe[name];
  // Keep an unknown value from the page URL selectable until the user picks another.
  const all = present && !values.includes(present) ? [...values, present] : values;
  return (
    <div class="field">
      <label for={id}>
        {t(`play.${name}`)} <code>{name}</code>
      </label>
      <select id={id} value={present} {...invalid(name, problem)} onChange={(event) => change(name, event.currentTarget.value)}>
        <option value="">{first}</option>
        {all.map((value) => (
          <option value={value}>{value}</option>
        ))}
      </select>
    </div>
  );
}
