/**
 * Returns the object-store key of an uploaded archive. It is made of ids only, so that no text of a partner
 * names an object.
 */
export function archiveKey(gameId: string, uploadId: string): string {
  return `archives/${gameId}/${uploadId}.tar.gz`;
}

/**
 * Returns the object-store key of an uploaded picture of a game. Nothing else is ever stored under the same
 * key.
 */
export function pictureKey(gameId: string, pictureId: string): string {
  return `pictures/${gameId}/${pictureId}`;
}

/** What the key of a save says about it. */
export interface SaveName {
  generation: number;
  gameSession: string;
  /** Counts the packs of the session upward. */
  sequence: number;
  /** Run of the packer that packed it; 0 for saves of a release that did not count them. */
  attempt: number;
}

/**
 * Returns the object-store key of one stored save. It names one pack, whoever uploads it: nothing else is
 * ever stored under the same key.
 */
export function saveKey(slotId: string, { generation, gameSession, sequence, attempt }: SaveName): string {
  return `${savesPrefix(slotId)}${generation}-${gameSession}-${sequence}${attempt === 0 ? "" : `.${attempt}`}.tar.gz`;
}

/** Returns the prefix of the keys of all saves of a slot. */
export function savesPrefix(slotId: string): string {
  return `saves/${slotId}/`;
}

const saveName = /^saves\/[^/]+\/(\d{1,9})-([a-z0-9-]{1,63})-(\d{1,9})(?:\.(\d{1,9}))?\.tar\.gz$/;

/** Returns what `saveKey` made the key of; undefined for a key that it did not make. */
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

/** Returns the run of the packer that packed the save under this key; 0 for a key that does not say it. */
export function attemptOf(key: string): number {
  return parseSaveKey(key)?.attempt ?? 0;
}

/** Which pack of its session a save is. */
export type SavePosition = Pick<SaveName, "sequence" | "attempt">;

/**
 * Whether one of two saves of a session is the earlier. Sequences count through all runs of its packer, and
 * two runs may have reached the same one.
 */
export function isEarlier(save: SavePosition, other: SavePosition): boolean {
  return save.sequence < other.sequence || (save.sequence === other.sequence && save.attempt < other.attempt);
}

/**
 * Returns whether `saveKey` makes this key for a save of that slot: no other may be read or stored as one of
 * its saves.
 */
export function isSaveKeyOf(slotId: string, key: string): boolean {
  const name = parseSaveKey(key);
  return name !== undefined && key === saveKey(slotId, name);
}
