import type { z } from "zod";
import type { AuthorityFile } from "#runtime/network/authorityFile.ts";

/** The SMTP server and the sender of this site's mail. */
export interface MailSettings {
  host: string;
  port: number;
  /** `starttls` refuses servers that cannot encrypt, `tls` encrypts from the first byte. */
  security: "starttls" | "tls" | "none";
  credentials: { user: string; password: string } | undefined;
  /** Trusted CA certificates instead of the public ones. */
  authorities: string[] | undefined;
  from: string;
}

/** The variables of new accounts and of mail. */
interface MailEnvironment {
  SIGN_UP: "closed" | "invite" | "open";
  SMTP_HOST: string;
  SMTP_PORT: number;
  SMTP_SECURITY: MailSettings["security"];
  SMTP_USER: string;
  SMTP_PASSWORD: string;
  SMTP_CA_FILE?: AuthorityFile | undefined;
  MAIL_FROM: string;
}

/** Returns the mail settings; undefined if no SMTP server is configured. */
export function mailSettingsOf(env: MailEnvironment & { BASE_URL: string }): MailSettings | undefined {
  if (env.SMTP_HOST === "") return undefined;
  return {
    host: env.SMTP_HOST,
    port: env.SMTP_PORT,
    security: env.SMTP_SECURITY,
    credentials: env.SMTP_USER === "" ? undefined : { user: env.SMTP_USER, password: env.SMTP_PASSWORD },
    authorities: env.SMTP_CA_FILE?.certificates,
    from: env.MAIL_FROM === "" ? `Joypod <no-reply@${new URL(env.BASE_URL).hostname}>` : env.MAIL_FROM,
  };
}

/** Adds an issue for each combination of mail variables that cannot work. */
export function checkMail(env: MailEnvironment, context: z.RefinementCtx): void {
  const refuse = (name: keyof MailEnvironment, message: string): void =>
    context.addIssue({ code: "custom", path: [name], message });
  if (env.SIGN_UP === "open" && env.SMTP_HOST === "")
    refuse(
      "SIGN_UP",
      "must not be open without SMTP_HOST, because everybody could open accounts with addresses of others. Set SMTP_HOST (auth.smtp.host in the chart), or choose invite or closed",
    );
  if (env.SMTP_USER !== "" && env.SMTP_PASSWORD === "")
    refuse(
      "SMTP_PASSWORD",
      "must be set with SMTP_USER; in the chart, key password of the secret named by auth.smtp.existingSecret",
    );
}

/** Returns whether the text is empty, an address, or a name and an address: `Joypod <joypod@example.com>`. */
export function isSender(text: string): boolean {
  const [, address] = /^[^<>,;:\p{Cc}]*<([^<>]+)>$/u.exec(text) ?? [undefined, text];
  return text === "" || isMailAddress(address);
}

/**
 * Returns whether mail can be sent to the address. Mail headers give the excluded characters a meaning, such
 * as a second recipient.
 */
export function isMailAddress(normalized: string): boolean {
  return (
    normalized.length <= 254 && /^[^\s@\p{Cc}<>()[\]\\,;:"]+@[^\s@\p{Cc}<>()[\]\\,;:"]+$/u.test(normalized)
  );
}
