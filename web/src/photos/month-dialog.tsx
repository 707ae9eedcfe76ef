import { t } from "../i18n/messages.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import type { Grid } from "./grid.ts";
import { monthLabel } from "./month-label.ts";
import { firstOf, monthAt } from "./scrubber.ts";
import type { Month } from "./sections.ts";

interface Props {
  months: readonly Month[];
  grid: Grid;
  onClose: () => void;
}

/** Dialog that asks for a month, and scrolls to it. */
export function MonthDialog({ months, grid, onClose }: Props) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const month = Number(new FormData(event.currentTarget as HTMLFormElement).get("month"));
    onClose();
    grid.jumpTo(firstOf(months, month));
  };
  const shown = monthAt(months, grid.view.peek().index);
  return (
    <Dialog title={t("photos.goTo")} onClose={onClose}>
      <form class="login" onSubmit={submit}>
        <label class="field">
          <span>{t("photos.month")}</span>
          <select name="month" autofocus>
            {months.map((month, index) => (
              <option value={index} selected={index === shown}>
                {monthLabel(month)}
              </option>
            ))}
          </select>
        </label>
        <Button primary submit>
          {t("photos.go")}
        </Button>
      </form>
    </Dialog>
  );
}
