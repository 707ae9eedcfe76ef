/** Entry of an index of letters. */
export interface Letter {
  readonly label: string;
  /** Folded text that sorts before or equal to the first name under the letter. */
  readonly from: string;
}

/** Entries for the signs before A, for each letter from A to Z, and for all other scripts. */
export const LETTERS: readonly Letter[] = [
  { label: "#", from: "" },
  ...Array.from("abcdefghijklmnopqrstuvwxyz", (letter) => ({ label: letter.toUpperCase(), from: letter })),
  { label: "…", from: "{" },
];

/** Returns a name without case, accents and punctuation, as the server sorts it. */
export function folded(name: string): string {
  const plain = name.normalize("NFKD").toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
  return plain || name;
}

/**
 * Returns the index of the first name that belongs to a letter, by bisection.
 *
 * @param nameAt returns the name at an index of the sorted list
 */
export async function find(letter: Letter, total: number, nameAt: (index: number) => Promise<string>): Promise<number> {
  let low = 0;
  let high = letter.from === "" ? 0 : total;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (folded(await nameAt(middle)) < letter.from) low = middle + 1;
    else high = middle;
  }
  return Math.min(low, Math.max(0, total - 1));
}
