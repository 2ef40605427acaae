/** Invisible marks around text that has its own direction. `el` also keeps the text from being translated. */

/** Unicode's FIRST STRONG ISOLATE and POP DIRECTIONAL ISOLATE. */
const MARKS = /[\u2068\u2069]/g;

export function inMarks(text: string): string {
  return `\u2068${withoutMarks(text)}\u2069`;
}

/** The text without marks, for titles and announcements. */
export function withoutMarks(text: string): string {
  return text.replace(MARKS, "");
}

/** Split a text at its marks. Even indexes have the parts outside of marks, odd indexes the parts between marks. */
export function partsOf(text: string): string[] {
  return text.split(/\u2068([^\u2068\u2069]*)\u2069/);
}
