import type { ComponentChildren } from "preact";

import { Icon, type IconName } from "./icon.tsx";

interface IconButtonProps {
  icon: IconName;
  /** Name of the button for screen readers and the tooltip. */
  label: string;
  onClick: (event: MouseEvent) => void;
  /** State of a button that switches something on and off. */
  pressed?: boolean;
  disabled?: boolean;
  filled?: boolean;
}

/** Button that shows only an icon. */
export function IconButton({ icon, label, onClick, pressed, disabled, filled }: IconButtonProps) {
  const state = pressed === undefined ? {} : { "aria-pressed": pressed };
  return (
    <button type="button" class="icon-button" title={label} aria-label={label} disabled={disabled ?? false} onClick={onClick} {...state}>
      <Icon name={icon} filled={filled ?? false} />
    </button>
  );
}

interface ButtonProps {
  icon?: IconName;
  primary?: boolean;
  danger?: boolean;
  disabled?: boolean;
  submit?: boolean;
  onClick?: (event: MouseEvent) => void;
  children: ComponentChildren;
}

/** Button with a text. */
export function Button({ icon, primary, danger, disabled, submit, onClick, children }: ButtonProps) {
  const kind = `button${primary ? " primary" : ""}${danger ? " danger" : ""}`;
  return (
    <button type={submit ? "submit" : "button"} class={kind} disabled={disabled ?? false} {...(onClick ? { onClick } : {})}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
