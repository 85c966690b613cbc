import type { z } from "zod";
import { rumbleScale, type RumbleNotice } from "#contracts/stream.ts";

export type Rumble = z.infer<typeof RumbleNotice>;

/** The fields of Gamepad that are used. Which of them exist depends on the browser. */
export interface VibratingPad {
  readonly vibrationActuator?: {
    playEffect?(type: "dual-rumble", effect: RumbleEffect): Promise<unknown>;
    reset?(): Promise<unknown>;
  } | null;
  readonly hapticActuators?: readonly { pulse?(strength: number, ms: number): Promise<unknown> }[];
}

interface RumbleEffect {
  startDelay: number;
  duration: number;
  strongMagnitude: number;
  weakMagnitude: number;
}

/** Vibrates a gamepad as a notice says, if the browser and the gamepad can. */
export function playRumble(pad: VibratingPad, { strong, weak, ms }: Rumble): void {
  const [strongMagnitude, weakMagnitude] = [strong / rumbleScale, weak / rumbleScale];
  const { vibrationActuator, hapticActuators } = pad;
  const isStill = strong === 0 && weak === 0;
  if (vibrationActuator?.playEffect !== undefined) {
    const effect = { startDelay: 0, duration: ms, strongMagnitude, weakMagnitude };
    ignoreRefusal(
      isStill && vibrationActuator.reset !== undefined
        ? vibrationActuator.reset()
        : vibrationActuator.playEffect("dual-rumble", effect),
    );
  } else {
    const pulse = hapticActuators?.[0]?.pulse?.(Math.max(strongMagnitude, weakMagnitude), isStill ? 0 : ms);
    if (pulse !== undefined) ignoreRefusal(pulse);
  }
}

/** A gamepad that was unplugged, or a newer effect, ends an effect. */
function ignoreRefusal(playing: Promise<unknown>): void {
  playing.catch(() => undefined);
}
