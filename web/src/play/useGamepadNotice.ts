import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { UnknownGamepad } from "../stream/gamepadCapture.ts";

const shownMs = 12_000;

/** A message about a gamepad whose layout is not known, while it is shown. */
export interface GamepadNotice {
  text: string | undefined;
  /** Shows the message for some seconds. */
  show: (gamepad: UnknownGamepad) => void;
}

/** Returns the message of the gamepad that was reported last. */
export function useGamepadNotice(): GamepadNotice {
  const { t } = useTranslation("play");
  const [gamepad, setGamepad] = useState<UnknownGamepad>();
  useEffect(() => {
    if (gamepad === undefined) return undefined;
    const timer = setTimeout(() => setGamepad(undefined), shownMs);
    return () => clearTimeout(timer);
  }, [gamepad]);
  return {
    text: gamepad && t(gamepad.isUsed ? "gamepad.guessed" : "gamepad.unusable", { name: gamepad.name }),
    show: setGamepad,
  };
}
