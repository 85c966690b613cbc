/** The list takes some megabytes of memory: it is only read once a password is to be set. */
let reading: Promise<readonly string[]> | undefined;

/** Whether a password is one of those that guessing begins with, in whatever case it is written. */
export async function isCommonPassword(password: string): Promise<boolean> {
  reading ??= import("@zxcvbn-ts/language-common").then(({ dictionary }) => dictionary["passwords-common"]);
  return (await reading).includes(password.toLowerCase());
}
