/** Object-store key of an uploaded archive; made of ids only, so partners' words never name an object. */
export function archiveKey(gameId: string, uploadId: string): string {
  return `archives/${gameId}/${uploadId}.tar.gz`;
}

/** Object-store key of one stored save; every save of every session has its own, so nothing is overwritten. */
export function saveKey(slotId: string, generation: number, gameSession: string, sequence: number): string {
  return `${savesPrefix(slotId)}${generation}-${gameSession}-${sequence}.tar.gz`;
}

/** What the keys of all saves of a slot begin with. */
export function savesPrefix(slotId: string): string {
  return `saves/${slotId}/`;
}

/** What a save's key says of it. */
export interface SaveName {
  generation: number;
  gameSession: string;
  sequence: number;
}

const saveName = /^saves\/[^/]+\/(\d{1,9})-([a-z0-9-]{1,63})-(\d{1,9})\.tar\.gz$/;

/** The reverse of `saveKey`; undefined for a key that it did not make. */
export function parseSaveKey(key: string): SaveName | undefined {
  const [, generation, gameSession, sequence] = saveName.exec(key) ?? [];
  if (generation === undefined || gameSession === undefined || sequence === undefined) return undefined;
  return { generation: Number(generation), gameSession, sequence: Number(sequence) };
}
