/** What a game's stand-in picture is drawn from; the same for the same name on every visit. */
export interface ArtPattern {
  hue: number;
  secondHue: number;
  shapes: { x: number; y: number; size: number; turn: number; kind: "ring" | "dot" | "cross" | "bar" }[];
  initials: string;
}

const kinds = ["ring", "dot", "cross", "bar"] as const;
/** Hues that sit well on the dark page. */
const hues = [12, 34, 88, 150, 182, 208, 250, 276, 318, 340];

/** Draws lots from the slug and takes the initials of the title. */
export function artPattern(slug: string, title: string): ArtPattern {
  const draw = lots(slug);
  const hue = hues[Math.floor(draw() * hues.length)] ?? 0;
  const shapes = Array.from({ length: 9 }, () => ({
    x: Math.round(draw() * 320),
    y: Math.round(draw() * 180),
    size: Math.round(14 + draw() * 46),
    turn: Math.round(draw() * 90),
    kind: kinds[Math.floor(draw() * kinds.length)] ?? "dot",
  }));
  return { hue, secondHue: (hue + 40 + Math.floor(draw() * 60)) % 360, shapes, initials: initialsOf(title) };
}

function initialsOf(title: string): string {
  const words = title.split(/\s+/).filter((word) => /^[\p{L}\p{N}]/u.test(word));
  const meaningful = words.filter((word) => !/^(the|a|an|of|and|in|on)$/i.test(word));
  return (meaningful.length > 0 ? meaningful : words).slice(0, 2).map((word) => (/^./u.exec(word)?.[0] ?? "").toUpperCase()).join("");
}

/** Numbers from 0 to 1, always the same sequence for the same seed (FNV-1a, then xorshift). */
function lots(seed: string): () => number {
  let state = 0x811c9dc5;
  for (const letter of seed) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
