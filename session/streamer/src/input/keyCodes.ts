/** Offset between the kernel's key codes and X key codes (evdev). */
const offset = 8;

/** Kernel key codes in keyboard rows; each row lists only its first number. */
const rows: [first: number, codes: string][] = [
  [1, "Escape Digit1 Digit2 Digit3 Digit4 Digit5 Digit6 Digit7 Digit8 Digit9 Digit0 Minus Equal Backspace"],
  [15, "Tab KeyQ KeyW KeyE KeyR KeyT KeyY KeyU KeyI KeyO KeyP BracketLeft BracketRight Enter"],
  [29, "ControlLeft KeyA KeyS KeyD KeyF KeyG KeyH KeyJ KeyK KeyL Semicolon Quote Backquote"],
  [42, "ShiftLeft Backslash KeyZ KeyX KeyC KeyV KeyB KeyN KeyM Comma Period Slash ShiftRight"],
  [55, "NumpadMultiply AltLeft Space CapsLock F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 NumLock ScrollLock"],
  [
    71,
    "Numpad7 Numpad8 Numpad9 NumpadSubtract Numpad4 Numpad5 Numpad6 NumpadAdd Numpad1 Numpad2 Numpad3 Numpad0 NumpadDecimal",
  ],
  [86, "IntlBackslash F11 F12 IntlRo"],
  [92, "Convert KanaMode NonConvert"],
  [96, "NumpadEnter ControlRight NumpadDivide PrintScreen AltRight"],
  [102, "Home ArrowUp PageUp ArrowLeft ArrowRight End ArrowDown PageDown Insert Delete"],
  [117, "NumpadEqual"],
  [119, "Pause"],
  [121, "NumpadComma Lang1 Lang2"],
  [124, "IntlYen MetaLeft MetaRight ContextMenu"],
  [183, "F13 F14 F15 F16 F17 F18 F19 F20 F21 F22 F23 F24"],
];

const keyCodes: ReadonlyMap<string, number> = new Map(
  rows.flatMap(([first, codes]) =>
    codes.split(" ").map((code, index) => [code, first + index + offset] as const),
  ),
);

/**
 * Returns the X key code of a `KeyboardEvent.code`, independent of the player's layout; undefined for unknown
 * keys.
 */
export function keyCodeOf(code: string): number | undefined {
  return keyCodes.get(code);
}
