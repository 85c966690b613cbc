import { limits } from "#contracts/limits.ts";
import { DomainError, invalidRequest } from "../errors.ts";

const { passwordMinLength, passwordMaxLength, bodyBytes } = limits.auth;
/**
 * The sign-in form has room for the other fields too: each letter beyond ASCII takes six to twelve of its
 * characters.
 */
const formLengthMax = bodyBytes - 2048;

/**
 * Throws invalid_request, or common_password, for a password that no account may be given. Passwords that
 * accounts have are not held to it.
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

/** The list takes some megabytes of memory: it is only read once a password is to be set. */
let reading: Promise<readonly string[]> | undefined;

/** Whether a password is one of those that guessing begins with, in whatever case it is written. */
async function isCommonPassword(password: string): Promise<boolean> {
  reading ??= import("@zxcvbn-ts/language-common").then(({ dictionary }) => dictionary["passwords-common"]);
  return (await reading).includes(password.toLowerCase());
}
