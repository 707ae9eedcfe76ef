import { t } from "../i18n/messages.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { WHOLE_TEXT } from "./geometry.ts";
import { queryOf, withQuery } from "./recipe.ts";
import { type Spelling, type Subject, curlOf, iiifOf, imgOf, imgproxyOf, pictureOf, webpServerGoOf } from "./snippets.ts";
import { type Variant, formatOf } from "./variant.ts";

/** Texts to copy for the variant that is shown. */
export function Snippets({ subject, variant }: { subject: Subject; variant: Variant }) {
  const { accept, type } = variant;
  // A frame around the whole picture crops nothing.
  const recipe = variant.recipe.crop === WHOLE_TEXT ? { ...variant.recipe, crop: "" } : variant.recipe;
  const format = formatOf(type);
  return (
    <section class="play-snippets">
      <h2>{t("play.snippets")}</h2>
      <Snippet title="URL" text={withQuery(subject.address, queryOf(recipe))} />
      <Snippet title="<img srcset>" text={imgOf(subject, recipe)} />
      <Snippet title="<picture>" text={pictureOf(subject, recipe)} />
      <Snippet title="curl" text={curlOf(subject, recipe, accept, format)} />
      <Snippet title="JSON" text={withQuery(subject.address, "meta=full")} />
      <h2>{t("play.others")}</h2>
      <Other title="WebP Server Go" spelling={webpServerGoOf(subject, recipe)} />
      <Other title="imgproxy" spelling={imgproxyOf(subject, recipe)} />
      <Other title="IIIF" spelling={iiifOf(subject, recipe, format)} />
    </section>
  );
}

function Other({ title, spelling }: { title: string; spelling: Spelling }) {
  if ("text" in spelling) return <Snippet title={title} text={spelling.text} />;
  return (
    <div class="play-snippet">
      <h3>{title}</h3>
      <p class="dim">{t("play.lacks", { name: title, parameters: [...new Set(spelling.lacks)].join(", ") })}</p>
    </div>
  );
}

function Snippet({ title, text }: { title: string; text: string }) {
  return (
    <div class="play-snippet">
      <h3 dir="ltr">{title}</h3>
      <CopyButton text={text} label={t("play.copy", { name: title })} />
      <pre dir="ltr" tabIndex={0} role="region" aria-label={title}>
        {text}
      </pre>
    </div>
  );
}
