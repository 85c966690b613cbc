import type { Clock, Timer } from "#runtime/scheduling/clock.ts";
import { rumbleScale } from "#contracts/stream.ts";

/** Size of the kernel's `struct ff_effect` on 64-bit machines. */
export const effectBytes = 48;
export const maxEffects = 16;
const rumbleEffect = 0x50;
const periodicEffect = 0x51;
/** The browser is told at most this often. A later change replaces an earlier one. */
const minimumIntervalMs = 30;
/** While the pad vibrates, the browser is told again. It stops on its own if the connection is lost. */
const refreshMs = 1_000;
export const rumbleMs = 1_500;

/** Strength of a pad's two motors, from 0 to `rumbleScale`. */
export interface Rumble {
  strong: number;
  weak: number;
}

const still: Rumble = { strong: 0, weak: 0 };

interface Effect extends Rumble {
  lengthMs: number;
  delayMs: number;
  /** When it plays, on the monotonic clock; empty while it does not. */
  playing: { fromMs: number; untilMs: number } | undefined;
}

/** The effects that a program has uploaded to a pad. */
export class Effects {
  readonly #effects = new Map<number, Effect>();
  #gain = rumbleScale;

  /** Stores a `struct ff_effect`. An effect that is replaced while it plays starts again. */
  upload(id: number, effect: Buffer, nowMs: number): void {
    if (id >= maxEffects) return;
    const wasPlaying = this.#effects.get(id)?.playing !== undefined;
    const [lengthMs, delayMs] = [effect.readUInt16LE(10), effect.readUInt16LE(12)];
    this.#effects.set(id, { ...readStrength(effect), lengthMs, delayMs, playing: undefined });
    if (wasPlaying) this.play(id, 1, nowMs);
  }

  erase(id: number): void {
    this.#effects.delete(id);
  }

  /** Plays an effect so many times; 0 stops it. */
  play(id: number, times: number, nowMs: number): void {
    const effect = this.#effects.get(id);
    if (effect === undefined) return;
    const fromMs = nowMs + effect.delayMs;
    const untilMs = effect.lengthMs === 0 ? Infinity : nowMs + times * (effect.delayMs + effect.lengthMs);
    effect.playing = times > 0 ? { fromMs, untilMs } : undefined;
  }

  /** Sets the share of all strengths that is played, from 0 to `rumbleScale`. */
  setGain(gain: number): void {
    this.#gain = Math.min(rumbleScale, Math.max(0, gain));
  }

  strengthAt(nowMs: number): Rumble {
    const active = [...this.#effects.values()].filter(
      ({ playing }) => playing !== undefined && playing.fromMs <= nowMs && nowMs < playing.untilMs,
    );
    const scale = this.#gain / rumbleScale;
    const { strong, weak } = sumOf(active);
    return { strong: Math.round(strong * scale), weak: Math.round(weak * scale) };
  }

  /** Returns the next time after `nowMs` at which an effect begins or ends; Infinity if none does. */
  nextChangeAfter(nowMs: number): number {
    const times = [...this.#effects.values()].flatMap(({ playing }) =>
      playing === undefined ? [] : [playing.fromMs, playing.untilMs],
    );
    return Math.min(Infinity, ...times.filter((time) => time > nowMs));
  }
}

/** Effects of a shape are played like a vibration of the same strength, as the kernel does for such pads. */
function readStrength(effect: Buffer): Rumble {
  const type = effect.readUInt16LE(0);
  if (type === rumbleEffect) return { strong: effect.readUInt16LE(16), weak: effect.readUInt16LE(18) };
  if (type !== periodicEffect) return still;
  const magnitude = Math.min(rumbleScale, 2 * Math.abs(effect.readInt16LE(20)));
  return { strong: magnitude, weak: magnitude };
}

function sumOf(rumbles: readonly Rumble[]): Rumble {
  const limited = (sum: number) => Math.min(rumbleScale, sum);
  return {
    strong: limited(rumbles.reduce((sum, { strong }) => sum + strong, 0)),
    weak: limited(rumbles.reduce((sum, { weak }) => sum + weak, 0)),
  };
}

/** Mixes the effects of all programs that have a pad open, and reports changes of its vibration. */
export class RumbleMixer {
  readonly #clock: Pick<Clock, "monotonicMs" | "setTimer">;
  readonly #report: (rumble: Rumble) => void;
  readonly #sources = new Set<Effects>();
  #reported = still;
  #reportedAtMs = -Infinity;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(clock: Pick<Clock, "monotonicMs" | "setTimer">, report: (rumble: Rumble) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  add(effects: Effects): void {
    this.#sources.add(effects);
  }

  /** Stops the effects of a program that closed the pad. */
  remove(effects: Effects): void {
    if (this.#sources.delete(effects)) this.update();
  }

  /** Reports the current strength if it changed. Call it after each change of an effect. */
  update(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#isClosed) return;
    const nowMs = this.#clock.monotonicMs();
    const wanted = sumOf([...this.#sources].map((source) => source.strengthAt(nowMs)));
    const isMoving = wanted.strong > 0 || wanted.weak > 0;
    const isChanged = wanted.strong !== this.#reported.strong || wanted.weak !== this.#reported.weak;
    const isDue = nowMs >= this.#reportedAtMs + (isChanged ? minimumIntervalMs : refreshMs);
    if (isDue && (isChanged || isMoving)) {
      this.#reported = wanted;
      this.#reportedAtMs = nowMs;
      this.#report(wanted);
    }
    const next = Math.min(
      ...[...this.#sources].map((source) => source.nextChangeAfter(nowMs)),
      isChanged && !isDue ? this.#reportedAtMs + minimumIntervalMs : Infinity,
      isMoving ? this.#reportedAtMs + refreshMs : Infinity,
    );
    if (next < Infinity)
      this.#timer = this.#clock.setTimer(Math.max(1, Math.ceil(next - nowMs)), () => this.update());
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }
}
