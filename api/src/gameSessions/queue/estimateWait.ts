/** What happened in the measured period, from which waits are estimated. */
export interface QueueMeasure {
  /** Seats that sessions hold now. */
  seats: number;
  /** Sessions that ended. */
  ends: number;
  /** What all sessions together played, in seconds. */
  playedSeconds: number;
  /** Queued launches that got a seat. */
  seated: number;
  /** Queued launches that gave up or did not confirm their seat. */
  abandoned: number;
}

/**
 * What is assumed before anything was measured: so many ends, each after so long a session. Little enough
 * that some measured ends outweigh it.
 */
const assumed = { ends: 2, sessionSeconds: 45 * 60 };

/** Four of five waits end within the band. */
const band = [0.1, 0.9] as const;

/**
 * Returns the time in seconds until a launch with so many others ahead gets a seat, as a band that holds for
 * 80 % of waits, in whole minutes. Ends of sessions are taken for a Poisson process whose rate per played
 * second has a gamma distribution, given the measured ends; the time until the n-th end then has a beta prime
 * distribution. Launches ahead that give up shorten the wait.
 */
export function estimateWait(ahead: number, measure: QueueMeasure): { min: number; max: number } {
  const { seats, ends, playedSeconds, seated, abandoned } = measure;
  const patience = (seated + 1) / (seated + abandoned + 1);
  const endsNeeded = 1 + ahead * patience;
  const endsKnown = assumed.ends + ends;
  const scaleSeconds = (assumed.ends * assumed.sessionSeconds + playedSeconds) / Math.max(1, seats);
  const [min, max] = band.map((share) => {
    const x = betaQuantile(share, endsNeeded, endsKnown);
    return (scaleSeconds * x) / (1 - x);
  }) as [number, number];
  const rounding = roundingOf(max);
  return { min: Math.floor(min / rounding) * rounding, max: Math.ceil(max / rounding) * rounding };
}

/** Coarse for long waits, whose estimate would otherwise change with every end. */
function roundingOf(seconds: number): number {
  return seconds > 3600 ? 300 : 60;
}

/** Returns x with I(x; a, b) = `share`, by bisection. */
function betaQuantile(share: number, a: number, b: number): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < 40; step += 1) {
    const middle = (low + high) / 2;
    if (incompleteBeta(middle, a, b) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * Returns the regularized incomplete beta function, by its continued fraction (DLMF 8.17.22, with Lentz's
 * method).
 */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front =
    Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  const tiny = 1e-30;
  let [c, d] = [1, 1 - ((a + b) * x) / (a + 1)];
  d = 1 / (Math.abs(d) < tiny ? tiny : d);
  let fraction = d;
  for (let m = 1; m <= 500; m += 1) {
    let factor = 1;
    for (const term of [
      (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
      (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
    ]) {
      d = 1 + term * d;
      d = 1 / (Math.abs(d) < tiny ? tiny : d);
      c = 1 + term / c;
      if (Math.abs(c) < tiny) c = tiny;
      factor = c * d;
      fraction *= factor;
    }
    if (Math.abs(factor - 1) < 1e-10) break;
  }
  return front * fraction;
}

/** Returns the logarithm of the gamma function of a positive number, by Stirling's series (DLMF 5.11.1). */
function logGamma(x: number): number {
  let [shifted, correction] = [x, 0];
  while (shifted < 8) {
    correction -= Math.log(shifted);
    shifted += 1;
  }
  const inverse = 1 / (shifted * shifted);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / shifted;
  return correction + (shifted - 0.5) * Math.log(shifted) - shifted + Math.log(2 * Math.PI) / 2 + series;
}
