import { url } from "../base.ts";

/** Returns the address of the original of a picture (`pictures`) or track (`tracks`). */
export function originalOf(kind: "pictures" | "tracks", id: string): string {
  return url(`/-/api/${kind}/${id}/original`);
}

/** Downloads the file at an address. */
export function download(address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = "";
  link.click();
}

/** Downloads the originals of pictures, tracks and albums as a ZIP file. */
export function downloadArchive(ids: readonly string[]): void {
  const form = document.createElement("form");
  form.method = "post";
  form.action = url("/-/api/archive");
  // A refusal must not replace the page, in which music may be playing.
  form.target = "_blank";
  for (const id of ids) {
    const field = document.createElement("input");
    field.type = "hidden";
    field.name = "id";
    field.value = id;
    form.append(field);
  }
  document.body.append(form);
  form.submit();
  form.remove();
}
