import { limits } from "#contracts/limits.ts";
import { CliError } from "../cli/cliError.ts";

const passwordMinLength = 8;

/** Throws `invalid` for a password that no account may have. */
export function requirePassword(password: string): void {
  if (password.length >= passwordMinLength && password.length <= limits.auth.passwordMaxLength) return;
  throw new CliError("invalid", `The password must have ${passwordMinLength} to ${limits.auth.passwordMaxLength} characters; it is read from standard input.`);
}
