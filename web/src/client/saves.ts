/** The API's calls about saves. All of them throw only ApiError. */

import { z } from "zod";
import { SaveRequestedResponse, SaveSlotHistory, SavesResponse } from "#contracts/http/saves.ts";
import { asLine } from "#contracts/http/text.ts";
import { ApiError } from "./apiError.ts";
import { request, requestOnce, responseError } from "./request.ts";

/** Longer than the largest save takes on a slow line. The API gives up on a stalled upload long before. */
const sendTimeoutMs = 60 * 60_000;

interface SendFileOptions {
  /** Called with the share that was sent, from 0 to 1. */
  onProgress: (share: number) => void;
  /** Cancels the upload, which then throws `unreachable`. */
  signal: AbortSignal;
}

/**
 * The API reads the whole save before it answers: up to 20 s in each of two queues, 5 min for reading, and 2
 * min more for the copy. It continues after a timeout of the page, and another attempt would make a second
 * copy.
 */
export const saveTimeoutMs = 10 * 60_000;

/** A slot of a game. */
export interface SlotAddress {
  slug: string;
  slotId: string;
}

/** Returns the player's slots of a game with their histories. */
export function listSaves(slug: string, signal?: AbortSignal): Promise<SavesResponse> {
  return request(SavesResponse, savesPath(slug), { signal });
}

/**
 * Makes a version the current save of the slot; returns the slot. Errors: slot_in_use, unreadable_save (with
 * the id of the previous readable version).
 */
export function restoreSave(slot: SlotAddress, versionId: string): Promise<SaveSlotHistory> {
  return requestOnce(
    SaveSlotHistory,
    `${slotPath(slot)}/restore`,
    { versionId },
    { timeoutMs: saveTimeoutMs },
  );
}

/**
 * Copies a slot's save into an empty slot, which is returned. Errors: slot_in_use, no_empty_slot,
 * unreadable_save.
 */
export function copySlot(slot: SlotAddress): Promise<SaveSlotHistory> {
  return requestOnce(SaveSlotHistory, `${slotPath(slot)}/copy`, undefined, { timeoutMs: saveTimeoutMs });
}

/**
 * Copies a version into an empty slot, which is returned. Errors: slot_in_use, no_empty_slot,
 * unreadable_save.
 */
export function copySaveVersion(slot: SlotAddress, versionId: string): Promise<SaveSlotHistory> {
  return requestOnce(SaveSlotHistory, `${versionPath(slot, versionId)}/copy`, undefined, {
    timeoutMs: saveTimeoutMs,
  });
}

/** Renames a slot; an empty name restores the default one. */
export function renameSlot(slot: SlotAddress, label: string): Promise<SaveSlotHistory> {
  return request(SaveSlotHistory, slotPath(slot), { method: "PATCH", json: { label: asLine(label) } });
}

/** Deletes a slot with its saves. Errors: slot_in_use. */
export async function deleteSlot(slot: SlotAddress): Promise<void> {
  await request(z.undefined(), slotPath(slot), { method: "DELETE" });
}

/**
 * Uploads a save into a slot, or into an empty one without `slotId`; returns the slot. Errors: slot_in_use,
 * no_empty_slot, payload_too_large, invalid_archive.
 */
export function uploadSave(
  { slug, slotId }: { slug: string; slotId: string | undefined },
  file: File,
  options: SendFileOptions,
): Promise<SaveSlotHistory> {
  const path = slotId === undefined ? savesPath(slug) : `${slotPath({ slug, slotId })}/archive`;
  return sendFile(SaveSlotHistory, path, file, options);
}

/** Returns the path of a version's archive. */
export function saveArchivePath(slot: SlotAddress, versionId: string): string {
  return `${versionPath(slot, versionId)}/archive`;
}

/** Returns the path of a version. */
export function versionPath(slot: SlotAddress, versionId: string): string {
  return `${slotPath(slot)}/versions/${encodeURIComponent(versionId)}`;
}

/** Returns the path of the picture of a version. */
export function savePicturePath(slot: SlotAddress, pictureId: string): string {
  return `${slotPath(slot)}/pictures/${encodeURIComponent(pictureId)}`;
}

/** Requests a save of the running game, which becomes a version when it is stored. Errors: not_running. */
export async function requestSave(sessionId: string): Promise<void> {
  await request(SaveRequestedResponse, "/api/game/save", { json: { sessionId } });
}

function savesPath(slug: string): string {
  return `/api/games/${encodeURIComponent(slug)}/saves`;
}

function slotPath({ slug, slotId }: SlotAddress): string {
  return `${savesPath(slug)}/${encodeURIComponent(slotId)}`;
}

/**
 * Posts a gzip file and returns the body of the response. Throws ApiError. Uses XMLHttpRequest, because fetch
 * does not report upload progress.
 */
function sendFile<Schema extends z.ZodType>(
  schema: Schema,
  path: string,
  file: File,
  { onProgress, signal }: SendFileOptions,
): Promise<z.infer<Schema>> {
  return new Promise((resolve, reject) => {
    const sending = new XMLHttpRequest();
    const fail = (): void => reject(new ApiError("unreachable", "The API did not respond."));
    sending.open("POST", path);
    sending.timeout = sendTimeoutMs;
    sending.setRequestHeader("accept", "application/json");
    sending.setRequestHeader("content-type", "application/gzip");
    sending.upload.addEventListener("progress", ({ loaded, total }) =>
      onProgress(total === 0 ? 0 : loaded / total),
    );
    for (const end of ["error", "timeout", "abort"] as const) sending.addEventListener(end, fail);
    sending.addEventListener("load", () => {
      const body = jsonOf(sending.responseText);
      const parsed = schema.safeParse(body);
      if (sending.status < 200 || sending.status > 299)
        reject(responseError(sending.status, sending.getResponseHeader("retry-after"), body));
      else if (parsed.success) resolve(parsed.data);
      else
        reject(
          new ApiError("unexpected", `The response of ${path} does not match its contract.`, {
            cause: parsed.error,
          }),
        );
    });
    signal.addEventListener("abort", () => sending.abort(), { once: true });
    sending.send(file);
  });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // A proxy's page; the status is enough.
  }
}
