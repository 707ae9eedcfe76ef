import { t } from "../i18n/messages.ts";
import { IconButton } from "./button.tsx";
import { copy } from "./copy.ts";
import { toast } from "./toast.tsx";

/** Button that copies a text. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const run = async () => toast(t((await copy(text)) ? "copied" : "photos.notCopied"));
  return <IconButton icon="copy" label={label} onClick={() => void run()} />;
}
