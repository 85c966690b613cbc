import {
  AcceptInvitationRequest,
  AccountLinkRequest,
  AccountLinkResponse,
  ConfirmSignUpRequest,
  ForgotPasswordRequest,
  ResetPasswordRequest,
  SignUpRequest,
  SignUpResponse,
  type SignUpMode,
} from "#contracts/http/accountLinks.ts";
import { limits } from "#contracts/limits.ts";
import { type AuthDeps, signInByLink } from "../../auth/browserSignIn.ts";
import { accountHashOf } from "../../auth/tokens.ts";
import { DomainError } from "../../errors.ts";
import type { AppContext } from "../../http/appContext.ts";
import { applyRateLimits } from "../../http/applyRateLimits.ts";
import { empty } from "../../http/responses.ts";
import { publicRouteFor } from "../../http/route.ts";
import { requireTrustedOrigin } from "../../http/setSecurityHeaders.ts";
import type { Mailer, MailWork } from "../../mail/mailer.ts";
import { requirePassword } from "../passwordRule.ts";
import { linkTokenDigest } from "../../auth/linkToken.ts";
import { invalidLink, requireMailAddress } from "./accountLinks.ts";
import { findAccountLink } from "./accountLinkQueries.ts";
import { mailResetLink, resetPassword } from "./resetPassword.ts";
import { acceptInvitation, confirmSignUp, signUp, type LinkRequest } from "./signUp.ts";

/** Dependencies of these routes. */
export type AccountLinkDeps = AuthDeps & {
  config: { baseUrl: string; auth: { signUp: SignUpMode; pepper: string } };
  /** Undefined if this site sends no mail. */
  mailer: Mailer | undefined;
  mailWork: MailWork;
};

type AccountLinkContext = AppContext<AccountLinkDeps>;

const route = publicRouteFor<AccountLinkDeps>();
const path = "/api/auth";
const { bodyBytes } = limits.auth;
const signedIn = empty("The browser is signed in.", { headers: ["Set-Cookie"] });

const showSignUp = route({
  method: "GET",
  path: `${path}/sign-up`,
  name: "getSignUp",
  summary: "Get how players get an account",
  limits: ["authReads"],
  responses: { 200: SignUpResponse },
  errors: [],
  handle: ({ ctx, deps: { config, mailer } }) => {
    ctx.body = { mode: config.auth.signUp, sendsMail: mailer !== undefined };
  },
});

const requestSignUp = route({
  method: "POST",
  path: `${path}/sign-up`,
  name: "signUp",
  summary: "Open an account",
  description:
    "Mails a link that confirms the address. Until then the account cannot sign in, and after 24 hours it is deleted. The response does not reveal whether the address has an account: its owner learns by mail that somebody signed up again.",
  limits: ["authPosts", "mailRequests"],
  innerLimits: ["accountMails"],
  body: SignUpRequest,
  bodyBytes,
  responses: { 204: empty("A mail is on its way.") },
  errors: ["sign_up_closed", "common_password", "forbidden", "unavailable"],
  handle: async ({ ctx, deps, body: { email: typed, name, password } }) => {
    requireTrustedOrigin(ctx);
    const { mailer, mailWork, config } = deps;
    if (config.auth.signUp !== "open" || mailer === undefined) throw signUpClosed(config.auth.signUp);
    const email = requireMailAddress(typed);
    await requirePassword(password);
    await countMail(ctx, email);
    mailWork.add(() => signUp({ ...deps, mailer }, { email, name, password }));
    ctx.status = 204;
  },
});

const confirm = route({
  method: "POST",
  path: `${path}/confirm-sign-up`,
  name: "confirmSignUp",
  summary: "Confirm a new account",
  description: "Takes the link of the confirmation mail and the password of the sign-up, and signs in.",
  limits: ["authPosts"],
  body: ConfirmSignUpRequest,
  bodyBytes,
  responses: { 204: signedIn },
  errors: ["invalid_link", "invalid_credentials", "forbidden", "unavailable"],
  handle: async ({ ctx, deps, body: { token, password } }) => {
    requireTrustedOrigin(ctx);
    await signInByLink(
      ctx,
      await confirmSignUp(deps, { ...requestOf(ctx, token), password }),
      "confirmation",
    );
    ctx.status = 204;
  },
});

const accept = route({
  method: "POST",
  path: `${path}/accept-invitation`,
  name: "acceptInvitation",
  summary: "Accept an invitation",
  description: "Creates the account of the invitation and signs in.",
  limits: ["authPosts"],
  body: AcceptInvitationRequest,
  bodyBytes,
  responses: { 204: signedIn },
  errors: ["invalid_link", "common_password", "conflict", "sign_up_closed", "forbidden", "unavailable"],
  handle: async ({ ctx, deps, body: { token, name, password } }) => {
    requireTrustedOrigin(ctx);
    if (deps.config.auth.signUp === "closed") throw signUpClosed("closed");
    const user = await acceptInvitation(deps, { ...requestOf(ctx, token), name, password });
    await signInByLink(ctx, user, "invitation");
    ctx.status = 204;
  },
});

const forgot = route({
  method: "POST",
  path: `${path}/forgot-password`,
  name: "forgotPassword",
  summary: "Request a link to choose a new password",
  description:
    "Mails a link if the address has an account. The response does not reveal whether it has. On a site without mail, an admin prints the link: `joypod user reset-link`.",
  limits: ["authPosts", "mailRequests"],
  innerLimits: ["accountMails"],
  body: ForgotPasswordRequest,
  bodyBytes,
  responses: { 204: empty("If the address has an account, a mail is on its way.") },
  errors: ["no_mail", "forbidden", "unavailable"],
  handle: async ({ ctx, deps, body }) => {
    requireTrustedOrigin(ctx);
    const { mailer, mailWork, audit, config } = deps;
    if (mailer === undefined)
      throw new DomainError("no_mail", {
        message: "This site sends no mail. Ask the person who runs it for a link to choose a new password.",
      });
    const email = requireMailAddress(body.email);
    await countMail(ctx, email);
    audit.recordRarely(`passwordReset ${email}`, {
      action: "passwordReset.requested",
      actor: { kind: "anonymous" },
      subject: { kind: "account", id: accountHashOf(config.auth.pepper, email) },
      address: ctx.ip,
      requestId: ctx.state.requestId,
    });
    mailWork.add(() => mailResetLink({ ...deps, mailer }, email));
    ctx.status = 204;
  },
});

const reset = route({
  method: "POST",
  path: `${path}/reset-password`,
  name: "resetPassword",
  summary: "Choose a new password with a link",
  description: "Ends all sign-ins of the player and signs this browser in.",
  limits: ["authPosts"],
  body: ResetPasswordRequest,
  bodyBytes,
  responses: { 204: signedIn },
  errors: ["invalid_link", "common_password", "forbidden", "unavailable"],
  handle: async ({ ctx, deps, body: { token, newPassword } }) => {
    requireTrustedOrigin(ctx);
    await signInByLink(
      ctx,
      await resetPassword(deps, { ...requestOf(ctx, token), newPassword }),
      "passwordReset",
    );
    ctx.status = 204;
  },
});

const showLink = route({
  method: "POST",
  path: `${path}/link`,
  name: "getAccountLink",
  summary: "Get what a one-time link is for",
  description: "Does not use up the link. A POST, because addresses of requests are logged.",
  limits: ["authPosts"],
  body: AccountLinkRequest,
  bodyBytes,
  responses: { 200: AccountLinkResponse },
  errors: ["invalid_link", "unavailable"],
  handle: async ({ ctx, deps: { postgres }, body: { token } }) => {
    const link = await findAccountLink(postgres.pool, linkTokenDigest(token));
    if (link === undefined) throw invalidLink();
    const { purpose, email, expiresAt } = link;
    ctx.body = { purpose, email, expiresAt: expiresAt.toISOString() };
  },
});

/** Routes of new accounts and of one-time links. */
export const accountLinkRoutes = [showSignUp, requestSignUp, confirm, accept, forgot, reset, showLink];

function requestOf(ctx: AccountLinkContext, token: string): LinkRequest {
  return { token, address: ctx.ip, requestId: ctx.state.requestId };
}

/** Counts a mail to the address, whether or not it has an account. */
async function countMail(ctx: AccountLinkContext, email: string): Promise<void> {
  await applyRateLimits(ctx, ["accountMails"], accountHashOf(ctx.deps.config.auth.pepper, email));
}

function signUpClosed(mode: SignUpMode): DomainError {
  return new DomainError("sign_up_closed", {
    message:
      mode === "invite"
        ? "Accounts on this site need an invitation. Ask the person who runs it."
        : "This site opens no accounts on its own. Ask the person who runs it.",
  });
}
