/** Object-store key of an uploaded archive; made of ids only, so partners' words never name an object. */
export function archiveKey(gameId: string, uploadId: string): string {
  return `archives/${gameId}/${uploadId}.tar.gz`;
}

/** What a save's key says of it. */
export interface SaveName {
  generation: number;
  gameSession: string;
  /** Counts the packs of the session upward. */
  sequence: number;
  /** Life of the packer that packed it; 0 for saves stored before packers had lives. */
  attempt: number;
}

/** Object-store key of one stored save. It names one pack, whoever uploads it: nothing else is ever stored under the same key. */
export function saveKey(slotId: string, { generation, gameSession, sequence, attempt }: SaveName): string {
  return `${savesPrefix(slotId)}${generation}-${gameSession}-${sequence}${attempt === 0 ? "" : `.${attempt}`}.tar.gz`;
}

/** What the keys of all saves of a slot begin with. */
export function savesPrefix(slotId: string): string {
  return `saves/${slotId}/`;
}

const saveName = /^saves\/[^/]+\/(\d{1,9})-([a-z0-9-]{1,63})-(\d{1,9})(?:\.(\d{1,9}))?\.tar\.gz$/;

/** The reverse of `saveKey`; undefined for a key that it did not make. */
export function parseSaveKey(key: string): SaveName | undefined {
  const [, generation, gameSession, sequence, attempt = "0"] = saveName.exec(key) ?? [];
  if (generation === undefined || gameSession === undefined || sequence === undefined) return undefined;
  return { generation: Number(generation), gameSession, sequence: Number(sequence), attempt: Number(attempt) };
}
