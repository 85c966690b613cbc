import { limits } from "#contracts/limits.ts";
import { invalidRequest } from "../errors.ts";

const passwordMinLength = 8;

/** Throws invalid_request for a password that no account may have. */
export function requirePassword(password: string): void {
  if (password.length >= passwordMinLength && password.length <= limits.auth.passwordMaxLength) return;
  throw invalidRequest(`The password must have ${passwordMinLength} to ${limits.auth.passwordMaxLength} characters; it is read from standard input.`);
}
