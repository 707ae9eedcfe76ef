import { signal } from "@preact/signals";

import type { MessageKey } from "./i18n/messages.ts";

/**
 * Keyboard command. The help dialog lists the commands from the same list that the handler uses.
 */
export interface Command {
  /** Keys as in `KeyboardEvent.key`; a capital letter means the key with Shift. */
  readonly keys: readonly string[];
  /** Message that says what the command does. */
  readonly label: MessageKey;
  /** Runs the command with the key that was pressed. */
  readonly run: (key: string) => void;
}

/** Commands of one view or of the whole page. */
export interface CommandGroup {
  readonly title: MessageKey;
  readonly commands: readonly Command[];
}

/** Groups of commands that apply now; later ones take precedence. */
export const groups = signal<readonly CommandGroup[]>([]);

/**
 * Adds a group of commands. Returns a function that removes the group.
 *
 * @param isBelow true if all other groups take precedence for the same keys
 */
export function addCommands(group: CommandGroup, isBelow = false): () => void {
  groups.value = isBelow ? [group, ...groups.value] : [...groups.value, group];
  return () => {
    groups.value = groups.value.filter((other) => other !== group);
  };
}

/** Returns whether the element that has the focus accepts typed text. */
function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  return target instanceof HTMLInputElement && !/^(button|checkbox|radio|range|submit)$/.test(target.type);
}

/** Returns whether the element that has the focus uses this key itself. */
function usesKey(target: EventTarget | null, key: string): boolean {
  if (takesText(target)) return key !== "Escape";
  if (target instanceof HTMLInputElement && target.type === "range") return /^(Arrow|Home|End|Page)/.test(key);
  const activates = key === " " || key === "Enter";
  return activates && target instanceof HTMLElement && /^(A|BUTTON|SUMMARY|VIDEO|AUDIO)$/.test(target.tagName);
}

/** Starts to run commands on key presses. */
export function startKeys(): void {
  window.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (usesKey(event.target, event.key)) return;
    // While a modal dialog is open, only its own commands apply, which are the last group.
    const isModal = document.querySelector("dialog:modal") !== null;
    const active = isModal ? groups.value.slice(-1) : groups.value;
    for (const group of [...active].reverse()) {
      const command = group.commands.find((it) => it.keys.includes(event.key));
      if (command) {
        event.preventDefault();
        command.run(event.key);
        return;
      }
    }
  });
}
