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

/** Returns the mail that confirms a changed address. */
export function emailChangeMail(to: string, link: IssuedLink): Mail {
  return mail(to, "Confirm your new address for Joypod", [
    "Open this link to use this address for your Joypod account:",
    link.url,
    `The link works once, until ${untilOf(link)}.`,
    "If you did not ask for this, ignore this mail: nothing has changed.",
  ]);
}

/** Returns the mail to the owner of an account whose address somebody wants for another one. */
export function addressInUseMail(to: string): Mail {
  return mail(to, "This address already has a Joypod account", [
    "Somebody, probably you, wanted to use this address for another Joypod account. It already has an account, so nothing has changed.",
  ]);
}

/** Returns the mail to the former address of an account. */
export function emailChangedMail(to: string): Mail {
  return mail(to, "Your Joypod account has a new address", [
    "Your Joypod account now has another e-mail address, and this one does not sign in any more.",
    "If that was not you, tell the person who runs this site at once.",
  ]);
}

/** Returns the mail to a player whose account will be deleted. */
export function deletionMail(to: string, deleteAt: Date, baseUrl: string): Mail {
  return mail(to, "Your Joypod account will be deleted", [
    `Your Joypod account and your saves will be deleted on ${deleteAt.toISOString().slice(0, 10)}.`,
    `To keep them, sign in before and choose “Keep my account”: ${baseUrl}/account`,
    "If you did not ask for this, do that now and change your password.",
  ]);
}

function mail(to: string, subject: string, paragraphs: readonly string[]): Mail {
  return { to, subject, text: `Hello,\n\n${paragraphs.join("\n\n")}\n` };
}

/** Returns the time in a form that is clear everywhere: `2026-11-29 18:00 UTC`. */
function untilOf({ expiresAt }: IssuedLink): string {
  return `${expiresAt.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
