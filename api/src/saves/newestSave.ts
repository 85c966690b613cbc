import { isEarlier, parseSaveKey, type SaveName } from "#contracts/objectKeys.ts";

/** A save in the object store. */
export interface StoredSaveObject {
  key: string;
  storedAt: Date;
}

/** One that a node agent named. */
export type NamedSaveObject = StoredSaveObject & SaveName;

/** Returns the objects with what their keys say; others have a key that no node agent makes. */
export function namedSaves(objects: readonly StoredSaveObject[]): NamedSaveObject[] {
  return objects.flatMap((object) => {
    const name = parseSaveKey(object.key);
    return name === undefined ? [] : [{ ...object, ...name }];
  });
}

/** Returns the session's last save among them; undefined when there is none. */
export function newestSaveOf(
  objects: readonly StoredSaveObject[],
  gameSession: string,
): NamedSaveObject | undefined {
  return namedSaves(objects)
    .filter((save) => save.gameSession === gameSession)
    .reduce<NamedSaveObject | undefined>(
      (newest, save) => (newest === undefined || isEarlier(newest, save) ? save : newest),
      undefined,
    );
}
