/** Outlines of the icons in a square of 24, drawn with a stroke of 1.75. */
const PATHS = {
  photos: "M4 5h16v14H4z M4 16l5-5 4 4 3-3 4 4 M15.5 9.5h.01",
  music: "M9 18V6l11-2v12 M9 18a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0z M20 16a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0z",
  folder: "M3 6h6l2 2h10v11H3z",
  dashboard: "M4 19V11 M10 19V5 M16 19v-6 M21 19H3",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14z M20 20l-4-4",
  settings: "M12 15.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4z M12 3v2.5 M12 18.5V21 M4.2 7.5l2.2 1.3 M17.6 15.2l2.2 1.3 M4.2 16.5l2.2-1.3 M17.6 8.8l2.2-1.3",
  copy: "M9 9h11v11H9z M15 9V4H4v11h5",
  close: "M6 6l12 12 M18 6L6 18",
  back: "M15 5l-7 7 7 7",
  forward: "M9 5l7 7-7 7",
  more: "M12 5.5h.01 M12 12h.01 M12 18.5h.01",
  info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z M12 11v5 M12 7.5h.01",
  download: "M12 4v11 M7 11l5 5 5-5 M5 20h14",
  link: "M10 14a4 4 0 0 0 6 .4l2.6-2.6a4 4 0 0 0-5.7-5.7L11.7 7.3 M14 10a4 4 0 0 0-6-.4l-2.6 2.6a4 4 0 0 0 5.7 5.7l1.2-1.2",
  heart: "M12 20s-8-4.8-8-10.4A4.6 4.6 0 0 1 12 7a4.6 4.6 0 0 1 8 2.6C20 15.2 12 20 12 20z",
  play: "M7 5l12 7-12 7z",
  pause: "M8 5v14 M16 5v14",
  compare: "M12 3v18 M4 6h5v12H4z M15 6h5v12h-5 M15 12h5",
  next: "M6 5l10 7-10 7z M18 5v14",
  previous: "M18 5L8 12l10 7z M6 5v14",
  shuffle: "M4 7h3l9 10h4 M4 17h3l2.5-2.8 M13 9.8L16 7h4 M17.5 4.5L20 7l-2.5 2.5 M17.5 14.5L20 17l-2.5 2.5",
  repeat: "M5 12V9a3 3 0 0 1 3-3h10 M15.5 3.5L18 6l-2.5 2.5 M19 12v3a3 3 0 0 1-3 3H6 M8.5 20.5L6 18l2.5-2.5",
  repeatOne: "M5 12V9a3 3 0 0 1 3-3h10 M15.5 3.5L18 6l-2.5 2.5 M19 12v3a3 3 0 0 1-3 3H6 M8.5 20.5L6 18l2.5-2.5 M11.2 10.8l1.3-1v4.6",
  queue: "M4 6h16 M4 11h16 M4 16h9",
  volume: "M4 10v4h3l5 4V6L7 10z M16 9a4 4 0 0 1 0 6 M18.5 6.5a8 8 0 0 1 0 11",
  mute: "M4 10v4h3l5 4V6L7 10z M16 9.5l5 5 M21 9.5l-5 5",
  full: "M4 9V4h5 M20 9V4h-5 M4 15v5h5 M20 15v5h-5",
  check: "M5 12.5l4.5 4.5L19 7.5",
  warning: "M12 4L2.5 20h19z M12 10v4.5 M12 17.3h.01",
  user: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8z M4.5 20a7.5 7.5 0 0 1 15 0",
  star: "M12 4l2.5 5.2 5.6.7-4.1 3.9 1 5.6L12 16.7l-5 2.7 1-5.6-4.1-3.9 5.6-.7z",
  drag: "M9 6h.01 M15 6h.01 M9 12h.01 M15 12h.01 M9 18h.01 M15 18h.01",
  edit: "M5 19l1-4L16 5l3 3L9 18z",
  listAdd: "M4 6h16 M4 11h16 M4 16h6 M17 14v6 M14 17h6",
  trash: "M5 7h14 M10 7V4h4v3 M7 7l1 13h8l1-13",
  refresh: "M20 12a8 8 0 1 1-2.3-5.6 M20 3v4h-4",
  album: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z M12 14a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
} as const;

export type IconName = keyof typeof PATHS;

/**
 * Icon of the size of the text around it. Decorative: the control that contains it has the name.
 */
export function Icon({ name, filled = false }: { name: IconName; filled?: boolean }) {
  return (
    <svg class={filled ? "icon filled" : "icon"} viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
