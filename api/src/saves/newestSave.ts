import { parseSaveKey, type SaveName } from "#contracts/objectKeys.ts";

/** A save in the object store. */
export interface StoredSaveObject {
  key: string;
  storedAt: Date;
}

/** One that a node agent named. */
export type NamedSaveObject = StoredSaveObject & SaveName;

/** Which pack of its session a save is. */
export type SavePosition = Pick<SaveName, "sequence" | "attempt">;

/** Whether one of two saves of a session is the earlier. Sequences count through all runs of its packer, and two runs may have reached the same one. */
export function isEarlier(save: SavePosition, other: SavePosition): boolean {
  return save.sequence < other.sequence || (save.sequence === other.sequence && save.attempt < other.attempt);
}

/** Returns the objects with what their keys say; others have a key that no node agent makes. */
export function namedSaves(objects: readonly StoredSaveObject[]): NamedSaveObject[] {
  return objects.flatMap((object) => {
    const name = parseSaveKey(object.key);
    return name === undefined ? [] : [{ ...object, ...name }];
  });
}

/** Returns the session's last save among them; undefined when there is none. */
export function newestSaveOf(objects: readonly StoredSaveObject[], gameSession: string): NamedSaveObject | undefined {
  return namedSaves(objects).filter((save) => save.gameSession === gameSession)
    .reduce<NamedSaveObject | undefined>((newest, save) => (newest === undefined || isEarlier(newest, save) ? save : newest), undefined);
}
