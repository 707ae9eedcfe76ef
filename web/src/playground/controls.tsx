import { t } from "../i18n/messages.ts";
import { Effects } from "./effects.tsx";
import { Check, Choice, Field, type Props, type Range, Row, Slider } from "./fields.tsx";

const FITS = ["cover", "contain", "fill"] as const;
const FORMATS = ["avif", "webp", "jpeg", "png"] as const;
const QUALITIES: Range = [1, 100, 1, 75];
const DEGREES: Range = [0, 359, 1, 0];

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
        <Field {...row} name="rotate" />
        <Slider {...row} name="rotate" range={DEGREES} />
      </Row>
      <Row {...row} names={["flip", "flop"]}>
        <Check {...row} name="flip" />
        <Check {...row} name="flop" />
      </Row>
      <Row {...row} names={["format", "q", "max_bytes"]}>
        <Choice {...row} name="format" first={t("play.format.auto")} values={FORMATS} />
        <Field {...row} name="q" />
        <Field {...row} name="max_bytes" />
      </Row>
      <Slider {...row} name="q" range={QUALITIES} />
      <Effects {...row} />
    </form>
  );
}
