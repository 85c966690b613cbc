import { limits } from "#contracts/limits.ts";
import { DomainError, invalidRequest } from "../errors.ts";

const { passwordMinLength, passwordMaxLength, bodyBytes } = limits.auth;
/** A non-ASCII character takes six to twelve characters in the sign-in form, which also has other fields. */
const formLengthMax = bodyBytes - 2048;

/**
 * Checks a new password. Existing passwords are not checked.
 *
 * @throws invalid_request, common_password
 */
export async function requirePassword(password: string): Promise<void> {
  if (password.length < passwordMinLength || password.length > passwordMaxLength) {
    throw invalidRequest(`The password must have ${passwordMinLength} to ${passwordMaxLength} characters.`);
  }
  if (new URLSearchParams([["password", password]]).toString().length > formLengthMax)
    throw invalidRequest("The password is too long for the sign-in form. Choose a shorter one.");
  if (await isCommonPassword(password)) {
    throw new DomainError("common_password", {
      message: "This password is too common. Choose another one.",
    });
  }
}

/** The list takes several megabytes of memory, so it is read when the first password is set. */
let reading: Promise<readonly string[]> | undefined;

/** Returns whether a password is on the list of common passwords, regardless of case. */
async function isCommonPassword(password: string): Promise<boolean> {
  reading ??= import("@zxcvbn-ts/language-common").then(({ dictionary }) => dictionary["passwords-common"]);
  return (await reading).includes(password.toLowerCase());
}
