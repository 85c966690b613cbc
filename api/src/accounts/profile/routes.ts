import {
  AccountExport,
  AccountResponse,
  AvatarParams,
  ChangeEmailRequest,
  ConfirmedRequest,
  DeletionResponse,
  SetNameRequest,
  SetPictureRequest,
} from "#contracts/http/account.ts";
import { pictureTypes } from "#contracts/http/partners.ts";
import { ConfirmEmailRequest } from "#contracts/http/accountLinks.ts";
import { limits } from "#contracts/limits.ts";
import { requireReauthentication } from "../../auth/browserSignIn.ts";
import { type UserPrincipal, userRouteFor } from "../../auth/requireUser.ts";
import { pictureOf } from "../../auth/userPicture.ts";
import { accountHashOf } from "../../auth/tokens.ts";
import { DomainError, notFound, unauthorized } from "../../errors.ts";
import type { AppContext } from "../../http/appContext.ts";
import { applyRateLimits } from "../../http/applyRateLimits.ts";
import { etagOf, respondUnchanged } from "../../http/respondCacheable.ts";
import { empty, json, media } from "../../http/responses.ts";
import { publicRouteFor } from "../../http/route.ts";
import { requireTrustedOrigin } from "../../http/setSecurityHeaders.ts";
import { requireMailAddress } from "../links/accountLinks.ts";
import type { AccountLinkDeps } from "../links/routes.ts";
import {
  avatarPath,
  cancelDeletion,
  changeName,
  changePicture,
  confirmEmailChange,
  mailDeletion,
  mailEmailChange,
  mailEmailChanged,
  type ProfileChange,
  removePicture,
  scheduleDeletion,
} from "./changeProfile.ts";
import { findAccountData } from "./exportQueries.ts";
import { findProfile, findUserPicture } from "./profileQueries.ts";

const route = userRouteFor<AccountLinkDeps>();
const publicRoute = publicRouteFor<AccountLinkDeps>();
const path = "/api/account";
const pictureBodyBytes = Math.ceil(limits.auth.avatar.bytes / 3) * 4 + limits.auth.bodyBytes;
const { deletionDays } = limits.auth;
const confirmed = {
  limits: ["account"],
  innerLimits: ["signInFailures"],
} as const;
const confirmedErrors = ["reauthentication_required", "locked"] as const;

const show = route({
  method: "GET",
  path,
  name: "getAccount",
  summary: "Get the account",
  limits: ["catalog"],
  responses: { 200: AccountResponse },
  errors: [],
  handle: async ({ ctx, deps: { postgres, config }, user }) => {
    const profile = await findProfile(postgres.pool, user.id);
    if (profile === undefined) throw unauthorized();
    const { name, email, image, deleteAt } = profile;
    ctx.body = {
      name,
      email,
      picture: pictureOf(image, config),
      hasOwnPicture: image?.startsWith(`${avatarPath}/`) ?? false,
      deleteAt: deleteAt?.toISOString() ?? null,
    } satisfies AccountResponse;
  },
});

const setName = route({
  method: "PUT",
  path: `${path}/name`,
  name: "setName",
  summary: "Change the name",
  ...confirmed,
  body: SetNameRequest,
  responses: { 204: empty("The name is changed.") },
  errors: confirmedErrors,
  handle: async ({ ctx, deps, user, body: { name, currentPassword } }) => {
    await requireReauthentication(ctx, user, currentPassword);
    await changeName(deps, changeOf(ctx, user), name);
    ctx.status = 204;
  },
});

const setPicture = route({
  method: "PUT",
  path: `${path}/picture`,
  name: "setAccountPicture",
  summary: "Change the picture",
  ...confirmed,
  body: SetPictureRequest,
  bodyBytes: pictureBodyBytes,
  responses: { 204: empty("The picture is changed.") },
  errors: [...confirmedErrors, "invalid_picture"],
  handle: async ({ ctx, deps, user, body: { picture, currentPassword } }) => {
    await requireReauthentication(ctx, user, currentPassword);
    await changePicture(deps, changeOf(ctx, user), Buffer.from(picture, "base64"));
    ctx.status = 204;
  },
});

const dropPicture = route({
  method: "POST",
  path: `${path}/picture/remove`,
  name: "removeAccountPicture",
  summary: "Remove the picture",
  description: "A no-op without a picture.",
  ...confirmed,
  body: ConfirmedRequest,
  responses: { 204: empty("The account has no picture.") },
  errors: confirmedErrors,
  handle: async ({ ctx, deps, user, body: { currentPassword } }) => {
    await requireReauthentication(ctx, user, currentPassword);
    await removePicture(deps, changeOf(ctx, user));
    ctx.status = 204;
  },
});

const changeEmail = route({
  method: "POST",
  path: `${path}/email`,
  name: "changeEmail",
  summary: "Change the e-mail address",
  description:
    "Mails a link to the new address; the change happens when it is opened. The response does not reveal whether the address has an account.",
  ...confirmed,
  innerLimits: ["signInFailures", "accountMails"],
  body: ChangeEmailRequest,
  responses: { 204: empty("A mail is on its way.") },
  errors: [...confirmedErrors, "no_mail", "unavailable"],
  handle: async ({ ctx, deps, user, body: { email: typed, currentPassword } }) => {
    const { mailer, mailWork, config } = deps;
    if (mailer === undefined)
      throw new DomainError("no_mail", {
        message:
          "This site sends no mail, so the address cannot be changed here. Ask the person who runs it.",
      });
    const email = requireMailAddress(typed);
    await requireReauthentication(ctx, user, currentPassword);
    await applyRateLimits(ctx, ["accountMails"], accountHashOf(config.auth.pepper, email));
    mailWork.add(() => mailEmailChange({ ...deps, mailer }, user.id, email));
    ctx.status = 204;
  },
});

const confirmEmail = publicRoute({
  method: "POST",
  path: "/api/auth/confirm-email",
  name: "confirmEmailChange",
  summary: "Confirm a new e-mail address",
  description: "Takes the link that was mailed to the new address. The former address gets a mail about it.",
  limits: ["authPosts"],
  body: ConfirmEmailRequest,
  bodyBytes: limits.auth.bodyBytes,
  responses: { 204: empty("The address is changed.") },
  errors: ["invalid_link", "conflict", "forbidden", "unavailable"],
  handle: async ({ ctx, deps, body: { token } }) => {
    requireTrustedOrigin(ctx);
    const { mailer, mailWork } = deps;
    const request = { token, address: ctx.ip, requestId: ctx.state.requestId };
    const { former } = await confirmEmailChange(deps, request);
    if (mailer !== undefined) mailWork.add(() => mailEmailChanged(mailer, former));
    ctx.status = 204;
  },
});

const exportAccount = route({
  method: "POST",
  path: `${path}/export`,
  name: "exportAccount",
  summary: "Export all data of the account",
  description: "Saves are listed with the address of their download.",
  ...confirmed,
  innerLimits: ["signInFailures", "accountExports"],
  body: ConfirmedRequest,
  responses: { 200: json(AccountExport, undefined, { headers: ["Content-Disposition"] }) },
  errors: confirmedErrors,
  handle: async ({ ctx, deps: { postgres, clock, config }, user, body: { currentPassword } }) => {
    await requireReauthentication(ctx, user, currentPassword);
    await applyRateLimits(ctx, ["accountExports"], user.id);
    const data = await findAccountData(postgres.pool, user.id);
    if (data === undefined) throw unauthorized();
    ctx.set("Content-Disposition", 'attachment; filename="joypod-account.json"');
    ctx.body = AccountExport.parse({
      exportedAt: clock.now().toISOString(),
      ...data,
      saves: AccountExport.shape.saves.parse(data.saves).map((save) => ({
        ...save,
        download: save.download === null ? null : config.baseUrl + save.download,
      })),
    });
  },
});

const deleteAccount = route({
  method: "POST",
  path: `${path}/delete`,
  name: "deleteAccount",
  summary: "Delete the account",
  description: `The account is deleted with its saves after ${deletionDays} days. Until then the player can sign in and keep it.`,
  ...confirmed,
  body: ConfirmedRequest,
  responses: { 200: DeletionResponse },
  errors: confirmedErrors,
  handle: async ({ ctx, deps, user, body: { currentPassword } }) => {
    await requireReauthentication(ctx, user, currentPassword);
    const { mailer, mailWork } = deps;
    const deleteAt = await scheduleDeletion(deps, changeOf(ctx, user));
    if (mailer !== undefined) mailWork.add(() => mailDeletion({ ...deps, mailer }, user.id, deleteAt));
    ctx.body = { deleteAt: deleteAt.toISOString() };
  },
});

const keepAccount = route({
  method: "POST",
  path: `${path}/keep`,
  name: "keepAccount",
  summary: "Keep an account that was to be deleted",
  description: "A no-op if no deletion is scheduled.",
  limits: ["account"],
  responses: { 204: empty("The account stays.") },
  errors: [],
  handle: async ({ ctx, deps, user }) => {
    await cancelDeletion(deps, changeOf(ctx, user));
    ctx.status = 204;
  },
});

const showAvatar = publicRoute({
  method: "GET",
  path: `${avatarPath}/:avatarId`,
  name: "getAvatar",
  summary: "Get a player's picture",
  description: "The content of an address never changes. Addresses cannot be guessed.",
  limits: ["picture"],
  params: AvatarParams,
  headers: ["If-None-Match"],
  responses: {
    200: media(pictureTypes, "The picture, as it was uploaded.", { headers: ["ETag"] }),
    304: empty("Unchanged since the version in `If-None-Match`.", { headers: ["ETag"] }),
  },
  errors: ["not_found", "unavailable"],
  handle: async ({ ctx, deps: { postgres }, params: { avatarId } }) => {
    const picture = await findUserPicture(postgres.pool, avatarId);
    if (picture === undefined) throw notFound("There is no such picture.");
    ctx.set("Cache-Control", "private, max-age=86400, immutable");
    if (respondUnchanged(ctx, etagOf(avatarId))) return;
    ctx.status = 200;
    ctx.type = picture.type;
    ctx.body = picture.content;
  },
});

/** Routes with which players manage their own account. */
export const profileRoutes = [
  show,
  setName,
  setPicture,
  dropPicture,
  changeEmail,
  confirmEmail,
  exportAccount,
  deleteAccount,
  keepAccount,
  showAvatar,
];

function changeOf(ctx: AppContext, user: UserPrincipal): ProfileChange {
  return { userId: user.id, address: ctx.ip, requestId: ctx.state.requestId };
}
