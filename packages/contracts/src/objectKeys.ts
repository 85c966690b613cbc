/**
 * Returns the object-store key of an uploaded archive. It consists only of ids, so a partner's text never
 * becomes part of a key.
 */
export function archiveKey(gameId: string, uploadId: string): string {
  return `archives/${gameId}/${uploadId}.tar.gz`;
}

/**
 * Returns the prefix of the object-store keys of the tails of a resumable upload: the bytes after its last
 * whole part.
 */
export function archiveTailPrefix(archive: string): string {
  return `${archive}.tail-`;
}

/** Returns the object-store key of the tail that ends at this offset of the archive. */
export function archiveTailKey(archive: string, offset: number): string {
  return `${archiveTailPrefix(archive)}${offset}`;
}

/** Returns the object-store key of an uploaded picture of a game. A key is never reused. */
export function pictureKey(gameId: string, pictureId: string): string {
  return `pictures/${gameId}/${pictureId}`;
}

/** Prefix of the keys of what is kept of ended sessions. */
export const runsPrefix = "runs/";

/** Returns the object-store key of the end of a game's output, packed by gzip. */
export function runOutputKey(gameSession: string): string {
  return `${runsPrefix}${gameSession}.log.gz`;
}

/** Returns the object-store key of what a session has observed (observations.ts), packed by gzip. */
export function runObservationsKey(gameSession: string): string {
  return `${runsPrefix}${gameSession}.observations.json.gz`;
}

/** The parts of a save's key. */
export interface SaveName {
  generation: number;
  gameSession: string;
  /** Increases with each pack of the session. */
  sequence: number;
  /** Run of the packer that packed it; 0 if the key does not contain it. */
  attempt: number;
}

/**
 * Returns the object-store key of a stored save. It identifies one pack, whoever uploads it, and is never
 * reused.
 */
export function saveKey(slotId: string, { generation, gameSession, sequence, attempt }: SaveName): string {
  return `${savesPrefix(slotId)}${generation}-${gameSession}-${sequence}${attempt === 0 ? "" : `.${attempt}`}.tar.gz`;
}

const [archiveEnd, pictureEnd] = [".tar.gz", ".jpg"];

/** Returns the object-store key of the picture that belongs to a stored save. */
export function savePictureKey(objectKey: string): string {
  return `${objectKey.slice(0, -archiveEnd.length)}${pictureEnd}`;
}

/** Returns the key of the save that a picture belongs to; undefined for a key of anything else. */
export function saveKeyOfPicture(key: string): string | undefined {
  if (!key.endsWith(pictureEnd)) return undefined;
  const objectKey = `${key.slice(0, -pictureEnd.length)}${archiveEnd}`;
  return parseSaveKey(objectKey) === undefined ? undefined : objectKey;
}

/** Returns the prefix of the keys of all saves of a slot. */
export function savesPrefix(slotId: string): string {
  return `saves/${slotId}/`;
}

const saveName = /^saves\/[^/]+\/(\d{1,9})-([a-z0-9-]{1,63})-(\d{1,9})(?:\.(\d{1,9}))?\.tar\.gz$/;

/** Parses a key from `saveKey`. Returns undefined for any other key. */
export function parseSaveKey(key: string): SaveName | undefined {
  const [, generation, gameSession, sequence, attempt = "0"] = saveName.exec(key) ?? [];
  if (generation === undefined || gameSession === undefined || sequence === undefined) return undefined;
  return {
    generation: Number(generation),
    gameSession,
    sequence: Number(sequence),
    attempt: Number(attempt),
  };
}

/** Returns the packer's run from the key of a save; 0 if the key does not contain it. */
export function attemptOf(key: string): number {
  return parseSaveKey(key)?.attempt ?? 0;
}

/** Identifies a pack within its session. */
export type SavePosition = Pick<SaveName, "sequence" | "attempt">;

/**
 * Returns whether `save` is older than `other`, a save of the same session. Sequences increase across all
 * runs of the packer, but two overlapping runs may reach the same one.
 */
export function isEarlier(save: SavePosition, other: SavePosition): boolean {
  return save.sequence < other.sequence || (save.sequence === other.sequence && save.attempt < other.attempt);
}

/**
 * Returns whether the key is one that `saveKey` returns for a save of the slot. Other keys must not be read
 * or written as its saves.
 */
export function isSaveKeyOf(slotId: string, key: string): boolean {
  const name = parseSaveKey(key);
  return name !== undefined && key === saveKey(slotId, name);
}
