/**
 * Returns untrusted text for a terminal: line breaks and tabs stay, and every other control character, and
 * those that change the direction or the line of text, are shown as escapes. Invalid UTF-8 is replaced.
 */
export function printableText(text: string | Uint8Array): string {
  const decoded = typeof text === "string" ? text : new TextDecoder().decode(text);
  return decoded.replaceAll(/\r\n?/g, "\n").replaceAll(unprintable, escapeCharacter);
}

const unprintable =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu;

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}
