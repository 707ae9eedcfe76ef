import { t } from "../i18n/messages.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";

/** Dialog that asks for a month. */
export function MonthDialog({ onClose, go }: { onClose: () => void; go: (month: string) => void }) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const month = String(new FormData(event.currentTarget as HTMLFormElement).get("month"));
    onClose();
    if (month) go(month);
  };
  return (
    <Dialog title={t("photos.goTo")} onClose={onClose}>
      <form class="login" onSubmit={submit}>
        <label class="field">
          <span>{t("photos.month")}</span>
          <input name="month" type="month" required autofocus />
        </label>
        <Button primary submit>
          {t("photos.go")}
        </Button>
      </form>
    </Dialog>
  );
}
