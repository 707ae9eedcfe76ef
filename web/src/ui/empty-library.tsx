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
  /** End of the last scan. */
  readonly ended?: string;
  /** Files that the scan has read, and all that it will read, once they are known. */
  readonly reading?: { readonly done: number; readonly of: number };
}

interface Props {
  icon: IconName;
  title: string;
  /** Called when a scan has ended since the library was loaded. */
  onScanned: () => void;
  children: ComponentChildren;
}

/** End of the scan after which the library was loaded last. */
let loadedAfter: string | undefined;

/** Pause between two questions about the scan, in milliseconds. */
const POLL_MS = 1000;

/** Message about a library without pictures or music. While a scan runs, the message shows its progress instead. */
export function EmptyLibrary({ icon, title, onScanned, children }: Props) {
  const scan = useSignal<Scan | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      try {
        scan.value = await api<Scan>("/scan", { signal: abort.signal });
        const { scanning, ended } = scan.value;
        if (!scanning) {
          if (ended && ended !== loadedAfter) onScanned();
          loadedAfter = ended;
          return;
        }
      } catch {
        // A scan that ran before a lost connection may still run.
        if (!scan.value || abort.signal.aborted) return;
      }
      timer = setTimeout(ask, POLL_MS);
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
      <p>{reading && t("scan.progress", { done: reading.done, of: reading.of })}</p>
    </Message>
  );
}
