/** A save is over its limits and cannot be stored. */
export class SaveTooLarge extends Error {
  constructor(what: string) {
    super(`The save directory ${what}, which is more than a save may have.`);
    this.name = "SaveTooLarge";
  }
}
