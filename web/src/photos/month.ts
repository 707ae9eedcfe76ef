import { monthName } from "./names.ts";
import type { Section } from "./sections.ts";

/** Returns the elements of a section: its heading, if it is the first of a month, and its list. */
export function sectionElements(section: Section): { element: HTMLElement; list: HTMLElement } {
  const element = document.createElement("section");
  element.className = section.rows ? "month" : "month unloaded";
  element.style.height = `${section.height}px`;
  const list = document.createElement("div");
  const name = monthName(section.month);
  list.setAttribute("role", "list");
  list.setAttribute("aria-label", name);
  list.setAttribute("aria-busy", String(!section.rows));
  if (section.isFirst) {
    const heading = document.createElement("h2");
    heading.textContent = name;
    element.append(heading);
  }
  element.append(list);
  return { element, list };
}
