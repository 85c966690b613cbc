/**
 * Reasons of a GameSession's condition SavePersisted, in the order of good to bad. `True` with any of them means that the node agent has done
 * what can be done and the session need not wait; what is lost, and the sentence that tells it, follows from the reason.
 */
export const saveReasons = {
  /** The last save is in the object store. */
  stored: "Stored",
  /** The game left the restored save as it was. */
  unchanged: "Unchanged",
  /** There is nothing to store: the game wrote no save, or never started. */
  nothingToSave: "NothingToSave",
  /** The pod ended without packing its last save, as at an eviction or a reboot: the newest pack before that is stored. */
  lastAutosave: "LastAutosave",
  /** The save directory is over the limits of a save; the newest pack before that is kept. */
  saveTooLarge: "SaveTooLarge",
  /** The save directory was not there, or was none, when it was looked at. */
  saveMissing: "SaveMissing",
  /** The node's disk took no pack; the newest one before that is kept. */
  spoolFull: "SpoolFull",
  spoolFailed: "SpoolFailed",
  /** The save directory cannot be read: the game has closed it. */
  saveUnreadable: "SaveUnreadable",
  /** A pack is not what its manifest says, or breaks the rules of archives; what lay on the node is set aside. */
  spoolUnreadable: "SpoolUnreadable",
  /** `False`: the game is played, and its newest pack is stored. */
  playing: "Playing",
  /** `False`: the object store cannot be reached. */
  storeUnreachable: "StoreUnreachable",
  /** `False`: the object store refuses the save. */
  storeRefused: "StoreRefused",
  /** `False`: anything else went wrong; it is tried again. */
  saveFailed: "SaveFailed",
} as const;
