import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

import { t } from "../i18n/messages.ts";
import type { Problem } from "./problem.ts";
import type { Parameter, Recipe } from "./recipe.ts";

const FITS = ["cover", "contain", "fill"] as const;
const ROTATIONS = ["90", "180", "270"] as const;
const FORMATS = ["avif", "webp", "jpeg", "png"] as const;
/** Quality at which the slider stands while the URL has none. */
const QUALITY = 75;

interface Props {
  readonly recipe: Recipe;
  readonly problem: Problem | null;
  readonly change: (name: Parameter, value: string) => void;
}

/** Controls of all parameters. The server's sentence about a parameter stands below its row. */
export function Controls({ recipe, problem, change }: Props) {
  const row = { problem, recipe, change };
  return (
    <form class="play-controls card" aria-label={t("play.parameters")} onSubmit={(event) => event.preventDefault()}>
      <Row {...row} names={["w", "h"]}>
        <Field {...row} name="w" />
        <Field {...row} name="h" />
      </Row>
      <Row {...row} names={["fit", "dpr"]}>
        <Choice {...row} name="fit" first="inside" values={FITS} />
        <Field {...row} name="dpr" />
      </Row>
      <Row {...row} names={["enlarge"]}>
        <Check {...row} name="enlarge" />
      </Row>
      <Row {...row} names={["crop", "focus"]}>
        <Field {...row} name="crop" />
        <Field {...row} name="focus" />
      </Row>
      <Row {...row} names={["rotate"]}>
        <Choice {...row} name="rotate" first="0" values={ROTATIONS} />
      </Row>
      <Row {...row} names={["flip", "flop"]}>
        <Check {...row} name="flip" />
        <Check {...row} name="flop" />
      </Row>
      <Row {...row} names={["format", "q"]}>
        <Choice {...row} name="format" first={t("play.format.auto")} values={FORMATS} />
        <Field {...row} name="q" />
      </Row>
      <input
        type="range"
        min="1"
        max="100"
        value={Number(recipe.q) || QUALITY}
        aria-label={t("play.quality")}
        onInput={(event) => change("q", event.currentTarget.value)}
      />
    </form>
  );
}

/** Controls side by side, with a line below for the problem of one of them. */
function Row({ names, problem, children }: Props & { names: readonly Parameter[]; children: ComponentChildren }) {
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

/** First parameter of the row in which each parameter stands. */
const LINES: Readonly<Record<Parameter, Parameter>> = {
  rotate: "rotate",
  flip: "flip",
  flop: "flip",
  crop: "crop",
  focus: "crop",
  w: "w",
  h: "w",
  fit: "fit",
  dpr: "fit",
  enlarge: "enlarge",
  format: "format",
  q: "format",
};

/** Returns the ARIA attributes of a control, which mark it invalid if the server refused its value. */
function invalid(name: Parameter, problem: Problem | null): Record<string, string> {
  return problem?.parameter === name ? { "aria-invalid": "true", "aria-describedby": `play-error-${LINES[name]}` } : {};
}

/** Input modes of the fields that hold numbers. */
const MODES: Readonly<Partial<Record<Parameter, "numeric" | "decimal">>> = { w: "numeric", h: "numeric", q: "numeric", dpr: "decimal" };
/** Placeholders of the fields whose default is not automatic. */
const PLACEHOLDERS: Readonly<Partial<Record<Parameter, string>>> = { dpr: "1", crop: "16:9", focus: "0.5,0.5" };

function Check({ recipe, problem, change, name }: Props & { name: "enlarge" | "flip" | "flop" }) {
  return (
    <label class="play-check">
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

function Field({ recipe, problem, change, name }: Props & { name: "w" | "h" | "dpr" | "q" | "crop" | "focus" }) {
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

function Choice({ recipe, problem, change, name, first, values }: Props & { name: "fit" | "format" | "rotate"; first: string; values: readonly string[] }) {
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
