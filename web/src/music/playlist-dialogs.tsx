import { signal, useSignal } from "@preact/signals";

import { t } from "../i18n/messages.ts";
import { session } from "../session.ts";
import { Button } from "../ui/button.tsx";
import { Dialog, useIsOpen } from "../ui/dialog.tsx";
import { failureText } from "../ui/failure.ts";
import { Icon } from "../ui/icon.tsx";
import type { MenuItem } from "../ui/menu.tsx";
import { Failure } from "../ui/message.tsx";
import { toast } from "../ui/toast.tsx";
import { useWhole } from "./load.ts";
import { PLAYLIST_PAGES, append, create } from "./playlist-edit.ts";

/** Ids of the tracks and albums to add; `null` while the dialog is closed. */
const adding = signal<readonly string[] | null>(null);

/** Returns the entry of a menu that adds tracks or albums to a playlist; none for guests. */
export function addItems(ids: readonly string[]): readonly MenuItem[] {
  if (session.value.name === null || ids.length === 0) return [];
  return [{ icon: "listAdd", label: t("music.addTo"), run: () => (adding.value = ids) }];
}

/** Shows why a request failed. */
export function toastFailure(error: unknown): void {
  toast(failureText(error));
}

/** Container of the dialog that asks for a playlist. */
export function AddHost() {
  const ids = adding.value;
  return ids && <AddDialog ids={ids} onClose={() => (adding.value = null)} />;
}

function AddDialog({ ids, onClose }: { ids: readonly string[]; onClose: () => void }) {
  const { value, error, reload } = useWhole("/playlists", PLAYLIST_PAGES);
  const own = value?.items.filter((it) => it.changeable) ?? [];
  const isSending = useSignal(false);
  const failed = useSignal("");
  const isOpen = useIsOpen();
  const run = async (name: string, add: () => Promise<unknown>) => {
    if (isSending.value) return;
    isSending.value = true;
    try {
      await add();
      toast(t("music.addedTo", { name }));
      if (isOpen()) onClose();
    } catch (failure) {
      // A toast would be behind the dialog.
      failed.value = failureText(failure);
    }
    isSending.value = false;
  };
  return (
    <Dialog title={t("music.addTo")} onClose={onClose}>
      {error ? <Failure error={error} retry={reload} /> : null}
      {own.length > 0 && (
        <ul class="choices">
          {own.map(({ id, name, trackCount }) => (
            <li key={id}>
              <button type="button" disabled={isSending.value} onClick={() => void run(name, () => append(id, ids))}>
                <Icon name="queue" />
                <b dir="auto">{name}</b>
                <span class="dim">{t("music.trackCount", { count: trackCount })}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <p class="field-error" role="alert">{failed.value}</p>
      {value || error ? (
        <NameForm label={t("music.newPlaylist")} action={t("music.create")} onSubmit={(name) => run(name, () => create(name, ids))} />
      ) : (
        <div class="loading" aria-busy="true" />
      )}
    </Dialog>
  );
}

interface NameFormProps {
  label: string;
  action: string;
  name?: string;
  /** Uses the name. Meanwhile, the form cannot be submitted again. */
  onSubmit: (name: string) => void | Promise<void>;
}

function NameForm({ label, action, name = "", onSubmit }: NameFormProps) {
  const isSending = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const typed = String(new FormData(event.currentTarget as HTMLFormElement).get("name")).trim();
    if (!typed || isSending.value) return;
    isSending.value = true;
    await onSubmit(typed);
    isSending.value = false;
  };
  return (
    <form class="login" onSubmit={submit}>
      <label class="field">
        <span>{label}</span>
        <input name="name" required dir="auto" autocomplete="off" defaultValue={name} />
      </label>
      <Button primary submit disabled={isSending.value}>
        {action}
      </Button>
    </form>
  );
}

/** Dialog that asks for the name of a playlist. It stays open, with the name, if `onSubmit` fails. */
export function NameDialog({ title, onClose, onSubmit, ...form }: Omit<NameFormProps, "label"> & { title: string; onClose: () => void }) {
  const failed = useSignal("");
  const isOpen = useIsOpen();
  const submit = async (name: string) => {
    try {
      await onSubmit(name);
      if (isOpen()) onClose();
    } catch (error) {
      failed.value = failureText(error);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <p class="field-error" role="alert">{failed.value}</p>
      <NameForm {...form} label={t("music.playlistName")} onSubmit={submit} />
    </Dialog>
  );
}

/** Dialog that asks before a playlist is deleted. */
export function DeleteDialog({ name, onClose, onDelete }: { name: string; onClose: () => void; onDelete: () => Promise<void> }) {
  const isSending = useSignal(false);
  const isOpen = useIsOpen();
  const send = async () => {
    isSending.value = true;
    await onDelete();
    if (isOpen()) onClose();
  };
  return (
    <Dialog title={t("music.deletePlaylist")} onClose={onClose}>
      <p>{t("music.deleteQuestion", { name })}</p>
      <div class="actions">
        <Button onClick={onClose}>{t("music.keep")}</Button>
        <Button danger icon="trash" disabled={isSending.value} onClick={() => void send()}>
          {t("music.delete")}
        </Button>
      </div>
    </Dialog>
  );
}
