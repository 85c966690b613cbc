import { saveReasons } from "#contracts/crd/reasons.ts";
import { systemErrorCode } from "#runtime/errors.ts";
import { SaveError } from "../errors.ts";

/** What the system says where it has no room for one more open file, or no memory, whatever is read. */
const lackCodes: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

/**
 * Throws SaveError where the system lacked what reading takes. That tells nothing of the file, which the next
 * try may read: a save without it would take the place of a good one.
 */
export function throwSystemLack(error: unknown): void {
  const code = systemErrorCode(error);
  if (code !== undefined && lackCodes.has(code))
    throw new SaveError(saveReasons.saveUnreadable, `The save directory cannot be read now: ${code}.`, {
      cause: error,
    });
}
