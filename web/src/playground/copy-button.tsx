import { t } from "../i18n/messages.ts";
import { copy } from "../ui/copy.ts";
import { IconButton } from "../ui/button.tsx";
import { toast } from "../ui/toast.tsx";

/** Button that copies a text. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const run = async () => toast(t((await copy(text)) ? "play.copied" : "photos.notCopied"));
  return <IconButton icon="link" label={label} onClick={() => void run()} />;
}
