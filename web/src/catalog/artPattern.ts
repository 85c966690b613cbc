/** The pattern of a game's placeholder picture. */
export interface ArtPattern {
  hue: number;
  secondHue: number;
  shapes: { x: number; y: number; size: number; turn: number; kind: "ring" | "dot" | "cross" | "bar" }[];
  initials: string;
}

const kinds = ["ring", "dot", "cross", "bar"] as const;
/** Hues that are readable on the dark page. */
const hues = [12, 34, 88, 150, 182, 208, 250, 276, 318, 340];

/** Returns a pattern that is random but always the same for a slug, with the initials of the title. */
export function artPattern(slug: string, title: string): ArtPattern {
  const random = randomNumbers(slug);
  const hue = hues[Math.floor(random() * hues.length)] ?? 0;
  const shapes = Array.from({ length: 9 }, () => ({
    x: Math.round(random() * 320),
    y: Math.round(random() * 180),
    size: Math.round(14 + random() * 46),
    turn: Math.round(random() * 90),
    kind: kinds[Math.floor(random() * kinds.length)] ?? "dot",
  }));
  return {
    hue,
    secondHue: (hue + 40 + Math.floor(random() * 60)) % 360,
    shapes,
    initials: initialsOf(title),
  };
}

function initialsOf(title: string): string {
  const words = title.split(/\s+/).filter((word) => /^[\p{L}\p{N}]/u.test(word));
  const meaningful = words.filter((word) => !/^(the|a|an|of|and|in|on)$/i.test(word));
  return (meaningful.length > 0 ? meaningful : words)
    .slice(0, 2)
    .map((word) => (/^./u.exec(word)?.[0] ?? "").toUpperCase())
    .join("");
}

/**
 * Returns a generator of numbers from 0 to 1, with always the same sequence for a seed (FNV-1a, then
 * xorshift).
 */
function randomNumbers(seed: string): () => number {
  let state = 0x811c9dc5;
  for (const letter of seed) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
