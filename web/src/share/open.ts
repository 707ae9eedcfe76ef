import { loadMessages, t } from "../i18n/messages.ts";
import { toast } from "../ui/toast.tsx";
import type { Subject } from "./types.ts";

/** Opens the share dialog. Its code and messages are loaded on first use. */
export async function openShare(subject: Subject): Promise<void> {
  try {
    const [dialog] = await Promise.all([import("./share-dialog.tsx"), loadMessages("share")]);
    dialog.show(subject);
  } catch {
    toast(t("error.unreachable"));
  }
}
