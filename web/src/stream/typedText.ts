import { maxTextLength, type StreamInput } from "#contracts/stream.ts";

/** Longer text is cut, because the game gets it character by character. */
const maxPasteLength = 2_000;

/** Keys that write nothing into an empty field, which the game gets instead. */
const gameKeys: ReadonlySet<string> = new Set([
  "Enter",
  "Backspace",
  "Delete",
  "ArrowLeft",
  "ArrowRight",
  "ArrowUp",
  "ArrowDown",
  "Home",
  "End",
]);

/** Returns the messages that type a text into the game. */
export function messagesFor(text: string): StreamInput[] {
  const messages: StreamInput[] = [];
  let s = "";
  for (const character of Array.from(text.replace(/\r\n?/g, "\n")).slice(0, maxPasteLength)) {
    if (s.length + character.length > maxTextLength) {
      messages.push({ t: "text", s });
      s = "";
    }
    s += character;
  }
  if (s !== "") messages.push({ t: "text", s });
  return messages;
}

/** Returns the messages that tap a key of the game; none for keys that the field needs. */
export function tapsFor({
  key,
  ctrlKey,
  altKey,
  metaKey,
}: Pick<KeyboardEvent, "key" | "ctrlKey" | "altKey" | "metaKey">): StreamInput[] {
  if (ctrlKey || altKey || metaKey || !gameKeys.has(key)) return [];
  return ([1, 0] as const).map((d) => ({ t: "key", c: key, d }));
}

/** Returns whether this browser lets pages read the clipboard when the player asks for it. */
export function canReadClipboard(): boolean {
  const clipboard = (navigator as Partial<Navigator>).clipboard; // Absent on pages served over plain HTTP.
  return clipboard !== undefined && "readText" in clipboard;
}

/** Returns the text on the clipboard. Rejects if the player or the browser does not allow it. */
export function readClipboard(): Promise<string> {
  return navigator.clipboard.readText();
}
