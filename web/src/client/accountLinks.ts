/** The API's calls about new accounts and one-time links. All of them throw only ApiError. */
import { z } from "zod";
import { AccountLinkResponse, SignUpResponse } from "#contracts/http/accountLinks.ts";
import { request } from "./request.ts";

const nothing = z.undefined();

/** Returns how players get an account, and whether the site sends mail. */
export function readSignUp(signal?: AbortSignal): Promise<SignUpResponse> {
  return request(SignUpResponse, "/api/auth/sign-up", { signal });
}

/** Opens an account, which is confirmed by mail. Errors: common_password, rate_limited. */
export async function signUp(email: string, name: string, password: string): Promise<void> {
  await request(nothing, "/api/auth/sign-up", { json: { email, name, password } });
}

/** Requests a link to choose a new password. Errors: rate_limited. */
export async function requestPasswordReset(email: string): Promise<void> {
  await request(nothing, "/api/auth/forgot-password", { json: { email } });
}

/** Returns what a link is for. Errors: invalid_link. */
export function readAccountLink(token: string, signal?: AbortSignal): Promise<AccountLinkResponse> {
  return request(AccountLinkResponse, "/api/auth/link", { json: { token }, signal });
}

/** Confirms a new account and signs in. Errors: invalid_link, invalid_credentials. */
export async function confirmSignUp(token: string, password: string): Promise<void> {
  await request(nothing, "/api/auth/confirm-sign-up", { json: { token, password } });
}

/** Opens the account of an invitation and signs in. Errors: invalid_link, common_password, conflict. */
export async function acceptInvitation(token: string, name: string, password: string): Promise<void> {
  await request(nothing, "/api/auth/accept-invitation", { json: { token, name, password } });
}

/** Sets a new password and signs in. Errors: invalid_link, common_password. */
export async function resetPassword(token: string, newPassword: string): Promise<void> {
  await request(nothing, "/api/auth/reset-password", { json: { token, newPassword } });
}

/** Changes the address of the account to that of the link. Errors: invalid_link, conflict. */
export async function confirmEmailChange(token: string): Promise<void> {
  await request(nothing, "/api/auth/confirm-email", { json: { token } });
}
