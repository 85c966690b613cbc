/** Object-store key of an uploaded archive; made of ids only, so partners' words never name an object. */
export function archiveKey(gameId: string, uploadId: string): string {
  return `archives/${gameId}/${uploadId}.tar.gz`;
}

/** Object-store key of one stored save; every save of every session has its own, so nothing is overwritten. */
export function saveKey(slotId: string, generation: number, gameSession: string, sequence: number): string {
  return `saves/${slotId}/${generation}-${gameSession}-${sequence}.tar.gz`;
}
