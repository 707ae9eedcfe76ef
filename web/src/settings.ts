import { type Signal, effect, signal } from "@preact/signals";

/** Prefix of this page's keys in `localStorage`, which files of the library share with the page. */
const PREFIX = "pelton.";

/**
 * Returns a signal whose value is kept in `localStorage`. Where storage is denied, the value lives
 * as long as the page.
 *
 * @param isValid decides whether a stored value may be used
 */
export function stored<T>(name: string, initial: T, isValid: (value: unknown) => value is T): Signal<T> {
  const value = signal(read(name, initial, isValid));
  let isFirst = true;
  effect(() => {
    const text = JSON.stringify(value.value);
    if (!isFirst) write(name, text);
    isFirst = false;
  });
  return value;
}

function read<T>(name: string, initial: T, isValid: (value: unknown) => value is T): T {
  try {
    const text = localStorage.getItem(PREFIX + name);
    const value: unknown = text === null ? undefined : JSON.parse(text);
    return isValid(value) ? value : initial;
  } catch {
    return initial;
  }
}

function write(name: string, text: string): void {
  try {
    localStorage.setItem(PREFIX + name, text);
  } catch {
    // Storage is full or denied.
  }
}

/** Returns a check that admits the values in `allowed`. */
export function oneOf<const T extends string>(allowed: readonly T[]): (value: unknown) => value is T {
  return (value): value is T => typeof value === "string" && (allowed as readonly string[]).includes(value);
}

/** Colour scheme: that of the system, or one that the user chose. */
export const scheme = stored("scheme", "system", oneOf(["system", "light", "dark"]));

/** Language that the user chose, or empty for that of the browser. */
export const chosenLanguage = stored("language", "", (value): value is string => typeof value === "string");

/** Shows the page in the chosen colour scheme. */
export function followScheme(): void {
  effect(() => {
    const { dataset } = document.documentElement;
    if (scheme.value === "system") delete dataset["scheme"];
    else dataset["scheme"] = scheme.value;
  });
}
