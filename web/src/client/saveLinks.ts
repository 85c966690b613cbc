/** The API's calls about links to saves. All of them throw ApiError and nothing else. */
import { ReceivedSave, SaveLinkResponse, SharedSave } from "#contracts/http/saveLinks.ts";
import { request, requestOnce } from "./request.ts";
import { saveTimeoutMs, versionPath, type SlotAddress } from "./saves.ts";

/** Creates a link that gives another player a copy of a version. Errors: slot_in_use. */
export function createSaveLink(slot: SlotAddress, versionId: string): Promise<SaveLinkResponse> {
  return request(SaveLinkResponse, `${versionPath(slot, versionId)}/links`, { method: "POST" });
}

/** Returns what a link offers. Errors: not_found for a link that was used or has expired. */
export function readSaveLink(token: string, signal?: AbortSignal): Promise<SharedSave> {
  return request(SharedSave, "/api/save-links/show", { json: { token }, signal });
}

/** Copies the save of a link to an empty slot. Errors: not_found, no_empty_slot, unreadable_save. */
export function receiveSave(token: string): Promise<ReceivedSave> {
  return requestOnce(ReceivedSave, "/api/save-links/receive", { token }, { timeoutMs: saveTimeoutMs });
}
