// Script of the page that visitors of a share see: a viewer for photos, and one player for all
// tracks. Without the script, photos are links, and each track has its own player.

/** Returns the label of a control, which the server has put on the page in the visitor's language. */
function label(control: "previous" | "next" | "close" | "original" | "play"): string {
  return document.body.dataset[control] ?? "";
}

function icon(text: string, name: string, run: () => void): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.setAttribute("aria-label", name);
  button.addEventListener("click", run);
  return button;
}

/** Lets the links of the grid open a viewer instead of the bare picture. */
function startViewer(links: readonly HTMLAnchorElement[]): void {
  const dialog = document.createElement("dialog");
  dialog.className = "viewer";
  const image = document.createElement("img");
  const original = document.createElement("a");
  original.textContent = "⤓";
  original.setAttribute("aria-label", label("original"));
  original.download = "";
  let present = 0;
  // In a script from right to left, the next photo is on the left.
  const forward = document.documentElement.dir === "rtl" ? -1 : 1;
  const show = (index: number) => {
    const link = links[index];
    const thumbnail = link?.querySelector("img");
    if (!link || !thumbnail) return;
    present = index;
    image.src = link.href;
    image.alt = thumbnail.alt;
    dialog.setAttribute("aria-label", thumbnail.alt);
    original.hidden = !link.dataset.original;
    original.href = link.dataset.original ?? "";
    previous.hidden = index === 0;
    next.hidden = index === links.length - 1;
    if (!dialog.open) dialog.showModal();
  };
  const previous = icon("‹", label("previous"), () => show(present - 1));
  const next = icon("›", label("next"), () => show(present + 1));
  previous.className = "previous";
  next.className = "next";
  const close = icon("×", label("close"), () => dialog.close());
  close.className = "close";
  dialog.append(image, close, original, previous, next);
  dialog.addEventListener("close", () => links[present]?.focus());
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") show(present - forward);
    if (event.key === "ArrowRight") show(present + forward);
  });
  let start = 0;
  image.addEventListener("pointerdown", (event) => (start = event.clientX));
  image.addEventListener("pointerup", (event) => {
    const moved = event.clientX - start;
    if (Math.abs(moved) > 40) show(moved < 0 ? present + forward : present - forward);
  });
  image.draggable = false;
  document.body.append(dialog);
  links.forEach((link, index) =>
    link.addEventListener("click", (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return;
      event.preventDefault();
      show(index);
    }),
  );
}

/** Lets one track play at a time, and the next one after it. */
function startPlayer(tracks: readonly HTMLAudioElement[]): void {
  tracks.forEach((audio, index) => {
    const row = audio.closest("li");
    audio.addEventListener("play", () => {
      for (const other of tracks) if (other !== audio) other.pause();
      row?.setAttribute("aria-current", "true");
    });
    audio.addEventListener("pause", () => row?.removeAttribute("aria-current"));
    audio.addEventListener("ended", () => void tracks[index + 1]?.play());
  });
  const [first] = tracks;
  if (!first) return;
  const play = icon(`▶ ${label("play")}`, label("play"), () => void first.play());
  play.className = "play";
  document.querySelector("header > div")?.append(play);
}

startViewer([...document.querySelectorAll<HTMLAnchorElement>(".grid a")]);
startPlayer([...document.querySelectorAll("audio")]);
