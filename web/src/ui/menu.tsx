import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import { navigate } from "../router.ts";
import { IconButton } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";

/** Entry of a menu: a command, or a view to go to. */
export interface MenuItem {
  readonly icon: IconName;
  readonly label: string;
  readonly run?: () => void;
  /** Path of the view that the entry opens. */
  readonly to?: string;
}

const open = signal<{ button: HTMLElement; items: readonly MenuItem[] } | null>(null);

/** Button that opens a menu. */
export function MenuButton({ label, items }: { label: string; items: () => readonly MenuItem[] }) {
  const show = (event: MouseEvent) => {
    if (event.currentTarget instanceof HTMLElement) open.value = { button: event.currentTarget, items: items() };
  };
  return <IconButton icon="more" label={label} onClick={show} />;
}

/** Container of the open menu, above all other elements. */
export function MenuHost() {
  // The menu must not appear in the next view.
  useLayoutEffect(() => () => void (open.value = null), []);
  const menu = open.value;
  return menu && <Menu button={menu.button} items={menu.items} />;
}

function Menu({ button, items }: { button: HTMLElement; items: readonly MenuItem[] }) {
  const menu = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = menu.current;
    if (!element) return;
    element.showPopover();
    const { left, right, top, bottom } = button.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = element;
    const start = document.documentElement.dir === "rtl" ? left : right - width;
    element.style.left = `${Math.max(8, Math.min(start, innerWidth - width - 8))}px`;
    element.style.top = `${bottom + height > innerHeight - 8 ? Math.max(8, top - height) : bottom}px`;
    element.querySelector("button")?.focus();
  }, [button]);
  const close = () => {
    open.value = null;
    button.focus({ preventScroll: true });
  };
  const choose = (item: MenuItem) => {
    close();
    item.run?.();
    if (item.to !== undefined) navigate(item.to);
  };
  return (
    <div
      ref={menu}
      class="menu"
      popover="auto"
      role="menu"
      onToggle={(event) => {
        if ((event as unknown as ToggleEvent).newState === "closed" && open.value?.button === button) close();
      }}
      onKeyDown={step}
    >
      {items.map((item) => (
        <button type="button" role="menuitem" onClick={() => choose(item)}>
          <Icon name={item.icon} />
          {item.label}
        </button>
      ))}
    </div>
  );
}

/** Moves the focus within the menu with the arrow keys. No key reaches the commands of the view. */
function step(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  event.stopPropagation();
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
  const goals: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
  const goal = goals[event.key];
  if (goal === undefined) return;
  event.preventDefault();
  buttons.at(goal % buttons.length)?.focus();
}
