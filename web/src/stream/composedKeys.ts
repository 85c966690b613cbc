import { isCharacter, type KeyPress } from "./keyboardCapture.ts";

interface ComposedKeysDeps {
  /** Presses a key, as KeyboardCapture does. */
  down: (press: KeyPress) => void;
  /** Types text that belongs to no key. */
  type: (text: string) => void;
}

/**
 * Finds the character that a dead key and the next key compose. Firefox reports it as the `key` of that next
 * press, other browsers only with the `keypress` event that follows. The press therefore waits for it.
 */
export class ComposedKeys {
  readonly #deps: ComposedKeysDeps;
  #isDead = false;
  #isComposed = false;
  #waiting: KeyPress | undefined;

  constructor(deps: ComposedKeysDeps) {
    this.#deps = deps;
  }

  /** Takes a `keydown` event. Returns whether the browser's default action is needed: `keypress`. */
  down(press: KeyPress): boolean {
    this.settle();
    this.#isComposed = false;
    const types = isCharacter(press.key) || press.key === "Dead";
    const isSecond = this.#isDead && isCharacter(press.key) && !press.repeat;
    if (types) this.#isDead = press.key === "Dead";
    if (isSecond) this.#waiting = press;
    else this.#deps.down(press);
    return isSecond;
  }

  /** Takes the `key` of a `keypress` event. There are two if the keys compose nothing. */
  typed(key: string): void {
    if (!isCharacter(key)) return;
    if (this.#waiting !== undefined) {
      const { code, repeat, timeStamp, ctrlKey, altKey, shiftKey, metaKey } = this.#waiting;
      const press = this.#waiting;
      this.#waiting = undefined;
      this.#isComposed = true;
      this.#deps.down({
        code,
        key,
        repeat,
        ...(timeStamp === undefined ? {} : { timeStamp }),
        ctrlKey,
        altKey,
        shiftKey,
        metaKey,
        getModifierState: (name) => press.getModifierState(name),
      });
    } else if (this.#isComposed) this.#deps.type(key);
  }

  /** Presses the key that still waits, with its own character. Call it before anything that follows. */
  settle(): void {
    const press = this.#waiting;
    this.#waiting = undefined;
    if (press !== undefined) this.#deps.down(press);
  }

  /** Forgets the dead key after a `release` message. */
  reset(): void {
    this.#waiting = undefined;
    this.#isDead = false;
    this.#isComposed = false;
  }
}
