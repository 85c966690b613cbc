/**
 * The API's calls about the player's account. All of them throw only ApiError. Those that change a sign-in
 * method throw reauthentication_required without a recent sign-in or the right password. Those that take the
 * id of the player throw unauthorized if somebody else is signed in.
 */
import { z } from "zod";
import {
  AccountExport,
  AccountResponse,
  DeletionResponse,
  EndedSignInsResponse,
  SignInsResponse,
  type SignIn,
} from "#contracts/http/account.ts";
import { StreamQualityResponse, type QualityRequest } from "#contracts/streamQuality.ts";
import { request } from "./request.ts";

const nothing = z.undefined();

/** Sets the player's password and returns how many other sign-ins ended with it. Errors: common_password. */
export async function setPassword(
  player: string,
  newPassword: string,
  currentPassword?: string,
): Promise<number> {
  return (
    await request(EndedSignInsResponse, "/api/account/password", {
      method: "PUT",
      json: { newPassword, currentPassword },
      player,
    })
  ).endedSignIns;
}

/** Unlinks a provider. Errors: conflict if it is the only sign-in method. */
export async function unlinkProvider(
  player: string,
  provider: string,
  currentPassword?: string,
): Promise<void> {
  await request(nothing, `/api/account/providers/${encodeURIComponent(provider)}/unlink`, {
    json: { currentPassword },
    player,
  });
}

/** Returns the player's sign-ins. */
export async function listSignIns(signal?: AbortSignal): Promise<SignIn[]> {
  return (await request(SignInsResponse, "/api/account/sign-ins", { signal })).signIns;
}

/** Ends one sign-in. Errors: not_found when it has ended already. */
export async function endSignIn(player: string, signInId: string): Promise<void> {
  await request(nothing, `/api/account/sign-ins/${encodeURIComponent(signInId)}`, {
    method: "DELETE",
    player,
  });
}

/** Ends all other sign-ins and returns their number. */
export async function endOtherSignIns(player: string): Promise<number> {
  return (await request(EndedSignInsResponse, "/api/account/sign-ins", { method: "DELETE", player }))
    .endedSignIns;
}

const qualityPath = "/api/account/stream-quality";

/** Returns the player's saved quality, and the site's maximum. */
export function readStreamQuality(signal?: AbortSignal): Promise<StreamQualityResponse> {
  return request(StreamQualityResponse, qualityPath, { signal });
}

/** Saves the player's quality for later launches. */
export function keepStreamQuality(
  player: string | undefined,
  quality: QualityRequest,
): Promise<StreamQualityResponse> {
  return request(StreamQualityResponse, qualityPath, { method: "PUT", json: quality, player });
}

/** Returns the player's account. */
export function readAccount(signal?: AbortSignal): Promise<AccountResponse> {
  return request(AccountResponse, "/api/account", { signal });
}

/** Changes the name. */
export async function setName(player: string, name: string, currentPassword?: string): Promise<void> {
  await request(nothing, "/api/account/name", { method: "PUT", json: { name, currentPassword }, player });
}

/** Changes the picture, in base64. Errors: invalid_picture. */
export async function setPicture(player: string, picture: string, currentPassword?: string): Promise<void> {
  await request(nothing, "/api/account/picture", {
    method: "PUT",
    json: { picture, currentPassword },
    player,
  });
}

/** Removes the picture. */
export async function removePicture(player: string, currentPassword?: string): Promise<void> {
  await request(nothing, "/api/account/picture/remove", { json: { currentPassword }, player });
}

/** Mails a link that changes the address to the new one. Errors: no_mail, rate_limited. */
export async function changeEmail(player: string, email: string, currentPassword?: string): Promise<void> {
  await request(nothing, "/api/account/email", { json: { email, currentPassword }, player });
}

/** Returns all data of the account. */
export function exportAccount(player: string, currentPassword?: string): Promise<AccountExport> {
  return request(AccountExport, "/api/account/export", { json: { currentPassword }, player });
}

/** Schedules the deletion of the account and returns its time. */
export async function deleteAccount(player: string, currentPassword?: string): Promise<string> {
  return (await request(DeletionResponse, "/api/account/delete", { json: { currentPassword }, player }))
    .deleteAt;
}

/** Cancels the deletion of the account. */
export async function keepAccount(player: string): Promise<void> {
  await request(nothing, "/api/account/keep", { method: "POST", player });
}
