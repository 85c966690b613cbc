/** An archive breaks a rule of Joypod; the message says which, and names the entry if one breaks it. */
export class ArchiveRefused extends Error {
  /** The broken rule, without the entry. */
  readonly rule: string;
  /** Path of the entry as far as it could be read; undefined when the archive as a whole breaks the rule. */
  readonly entry: string | undefined;

  constructor(rule: string, options: { entry?: string | undefined; cause?: unknown } = {}) {
    const { entry, cause } = options;
    super(
      entry === undefined ? `The archive ${rule}.` : `The archive's entry ${quoteEntry(entry)} ${rule}.`,
      { cause },
    );
    this.name = "ArchiveRefused";
    this.rule = rule;
    this.entry = entry;
  }
}

/**
 * Returns the entry's name as one printable line of bounded length: names come from outside and reach logs
 * and status.
 */
export function quoteEntry(entry: string): string {
  const quoted = JSON.stringify(entry).replace(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    escapeCharacter,
  );
  return quoted.length <= 200 ? quoted : `${quoted.slice(0, 140)}…${quoted.slice(-55)}`;
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
