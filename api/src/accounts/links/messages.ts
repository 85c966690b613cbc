import type { Mail } from "../../mail/mailer.ts";
import type { IssuedLink } from "./accountLinks.ts";

/** Returns the mail with an invitation. */
export function invitationMail(to: string, link: IssuedLink): Mail {
  return mail(to, "Your invitation to Joypod", [
    "You are invited to play on Joypod. Open this link to choose your name and password:",
    link.url,
    `The link works once, until ${untilOf(link)}.`,
  ]);
}

/** Returns the mail with a link to choose a new password. */
export function resetMail(to: string, link: IssuedLink): Mail {
  return mail(to, "Choose a new password for Joypod", [
    "Open this link to choose a new password for your Joypod account:",
    link.url,
    `The link works once, until ${untilOf(link)}.`,
    "If you did not ask for this, ignore this mail: your password stays as it is.",
  ]);
}

/** Returns the mail that confirms the address of a new account. */
export function confirmationMail(to: string, link: IssuedLink): Mail {
  return mail(to, "Confirm your address for Joypod", [
    "Somebody, probably you, opened a Joypod account with this address. Open this link and enter the password that you chose:",
    link.url,
    `The link works once, until ${untilOf(link)}. Accounts that are not confirmed by then are deleted.`,
    "If you did not open an account, ignore this mail.",
  ]);
}

/** Returns the mail to a player who signs up again. */
export function existingAccountMail(to: string, baseUrl: string): Mail {
  return mail(to, "You already have a Joypod account", [
    "Somebody, probably you, tried to open a Joypod account with this address, which already has one. Sign in here:",
    `${baseUrl}/signin`,
    `If you do not know your password any more, choose a new one: ${baseUrl}/forgot-password`,
    "If you did not sign up, ignore this mail: nothing has changed.",
  ]);
}

function mail(to: string, subject: string, paragraphs: readonly string[]): Mail {
  return { to, subject, text: `Hello,\n\n${paragraphs.join("\n\n")}\n` };
}

/** Returns the time in a form that is clear everywhere: `2026-11-29 18:00 UTC`. */
function untilOf({ expiresAt }: IssuedLink): string {
  return `${expiresAt.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
