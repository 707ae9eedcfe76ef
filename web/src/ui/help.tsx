import { signal } from "@preact/signals";

import { t } from "../i18n/messages.ts";
import { type CommandGroup, groups } from "../keys.ts";
import { Dialog } from "./dialog.tsx";

const isOpen = signal(false);

/** Opens the list of keyboard commands. */
export function showHelp(): void {
  isOpen.value = true;
}

/** Names of keys that are not a character. */
const NAMES: Readonly<Record<string, string>> = {
  " ": "␣",
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
};

/** Dialog with the keyboard commands that apply in the present view. */
export function HelpDialog() {
  if (!isOpen.value) return null;
  return (
    <Dialog title={t("help.title")} onClose={() => (isOpen.value = false)}>
      <div class="help">
        {groups.value.map((group) => (
          <Group group={group} />
        ))}
      </div>
    </Dialog>
  );
}

function Group({ group }: { group: CommandGroup }) {
  return (
    <section>
      <h3>{t(group.title)}</h3>
      <dl>
        {group.commands.map((command) => (
          <div>
            <dt>{t(command.label)}</dt>
            <dd>
              {command.keys.map((key) => (
                <kbd>{NAMES[key] ?? key}</kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
