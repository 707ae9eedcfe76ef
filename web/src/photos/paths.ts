/** Returns the path of the view of a folder, such as `folders/2019/a%20b`. */
export function folderPath(folder: string): string {
  return folder ? `folders/${folder.split("/").map(encodeURIComponent).join("/")}` : "folders";
}

/**
 * Returns the names and paths of the folders that lead to a folder, from the root's children to it.
 */
export function crumbs(folder: string): { readonly name: string; readonly path: string }[] {
  const parts = folder.split("/").filter(Boolean);
  return parts.map((name, index) => ({ name, path: parts.slice(0, index + 1).join("/") }));
}

/** Returns the query with which the playground shows a picture. */
export function playgroundOf(id: string): Record<string, string> {
  return { picture: id, w: "960" };
}
