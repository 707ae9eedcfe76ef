import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

import { api } from "../api.ts";
import { t } from "../i18n/messages.ts";
import type { IconName } from "./icon.tsx";
import { Message } from "./message.tsx";

/** State of the scan of the library, as `GET /-/api/scan` returns it. */
interface Scan {
  readonly scanning: boolean;
  /** Files that the scan has read, and all that it will read, once they are known. */
  readonly reading?: { readonly done: number; readonly of: number };
}

interface Props {
  icon: IconName;
  title: string;
  /** Called when a scan that ran meanwhile has ended. */
  onScanned: () => void;
  children: ComponentChildren;
}

/** Pause between two questions about the scan, in milliseconds. */
const POLL_MS = 1000;

/** Message about a library without pictures or music. While a scan runs, the message shows its progress instead. */
export function EmptyLibrary({ icon, title, onScanned, children }: Props) {
  const scan = useSignal<Scan | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      const before = scan.value;
      // Without a response, the message stays that of a library without a scan.
      scan.value = await api<Scan>("/scan", { signal: abort.signal }).catch(() => null);
      if (abort.signal.aborted) return;
      if (scan.value?.scanning) timer = setTimeout(ask, POLL_MS);
      else if (before) onScanned();
    };
    void ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, []);
  if (!scan.value?.scanning) return <Message icon={icon} title={title}>{children}</Message>;
  const { reading } = scan.value;
  return (
    <Message icon={icon} title={t("scan.running")}>
      <p role="status">{reading && t("scan.progress", { done: reading.done, of: reading.of })}</p>
    </Message>
  );
}
