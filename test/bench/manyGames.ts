import type { Pool } from "pg";

/** Words for titles; the first ones are the most frequent. */
const words = [
  "the",
  "of",
  "war",
  "world",
  "dark",
  "last",
  "star",
  "night",
  "city",
  "legend",
  "shadow",
  "quest",
  "hero",
  "dragon",
  "space",
  "king",
  "island",
  "racing",
  "battle",
  "dead",
  "lost",
  "wild",
  "iron",
  "kingdom",
  "story",
  "farm",
  "tower",
  "rise",
  "empire",
  "blood",
  "storm",
  "golden",
  "magic",
  "pirate",
  "tactics",
  "ninja",
  "robot",
  "puzzle",
  "castle",
  "ocean",
  "winter",
  "frontier",
  "arena",
  "garden",
  "mystery",
  "galaxy",
  "rebel",
  "crystal",
  "haunted",
  "voyage",
  "alchemy",
  "brigade",
  "citadel",
  "drifter",
  "ember",
  "falcon",
  "glacier",
  "harbor",
  "inferno",
  "jungle",
  "karma",
  "labyrinth",
  "meadow",
  "nebula",
  "oracle",
  "phantom",
  "quartz",
  "raven",
  "saga",
  "temple",
  "umbra",
  "vortex",
  "willow",
  "xenon",
  "yonder",
  "zephyr",
  "Über",
  "Éclair",
  "Ñandú",
  "Łódź",
];
const suffixes = ["", "", "", " II", " III", ": Remastered", " Online", " Deluxe", " 2049", ": Origins"];
const studios = ["Games", "Studio", "Interactive", "Works", "Entertainment", "Softworks"];
const tags = [
  "action",
  "adventure",
  "rpg",
  "strategy",
  "indie",
  "simulation",
  "puzzle",
  "racing",
  "sports",
  "horror",
  "platformer",
  "multiplayer",
];

/** Occurs in this many of 100,000 titles. */
export const rareWord = "quixotic";
const rareCount = 40;
/** Occurs in one of ten titles. */
export const commonWord = "chronicle";

/** Fills an empty catalogue with games that are the same on every call. */
export async function addManyGames(pool: Pool, count: number): Promise<void> {
  const random = randomFrom(7);
  await pool.query("INSERT INTO partners (id, name) VALUES ('many', 'Many Games')");
  const batch = 5_000;
  for (let first = 0; first < count; first += batch) {
    const games = Array.from({ length: Math.min(batch, count - first) }, (_, index) =>
      game(first + index, count, random),
    );
    await pool.query(
      `INSERT INTO games (id, partner_id, slug, title, developer, description, tags, launcher, engine_dir, popularity, created_at)
       SELECT id, 'many', slug, title, developer, description, tags, 'run.sh', 'engine', popularity, "createdAt"
       FROM jsonb_to_recordset($1) AS g(id text, slug text, title text, developer text, description text, tags text[], popularity int, "createdAt" timestamptz)`,
      [JSON.stringify(games)],
    );
  }
  await pool.query(`INSERT INTO game_versions (id, game_id, object_key, sha256, size_bytes, unpacked_size_bytes)
    SELECT id, id, id, repeat('0', 64), 1, 1 FROM games`);
  // Indexes are created at the end, which takes seconds instead of a minute and gives the same result.
  const { rows: indexes } = await pool.query<{ name: string; definition: string }>(
    "SELECT indexname AS name, indexdef AS definition FROM pg_indexes WHERE indexname LIKE 'games\\_catalog\\_%'",
  );
  await pool.query(`DROP INDEX ${indexes.map(({ name }) => name).join(", ")}`);
  await pool.query("UPDATE games SET status = 'active', current_version_id = id");
  for (const { definition } of indexes) await pool.query(definition);
  // autovacuum would do this later.
  await pool.query("VACUUM ANALYZE games");
}

interface Game {
  id: string;
  slug: string;
  title: string;
  developer: string;
  description: string;
  tags: string[];
  popularity: number;
  createdAt: string;
}

function game(index: number, count: number, random: () => number): Game {
  const title = [word(random), word(random), ...(random() < 0.5 ? [word(random)] : [])].map(
    (text) => text.charAt(0).toUpperCase() + text.slice(1),
  );
  if (index % 10 === 3) title.splice(1, 0, "Chronicles");
  if (index % Math.floor(count / rareCount) === 5) title.push("Quixotic");
  const suffix = index.toString(36).padStart(6, "0");
  return {
    id: `${hex(random)}${hex(random)}-${hex(random).slice(4)}-4${suffix.slice(0, 3)}-8${suffix.slice(3)}-${hex(random)}${hex(random).slice(4)}`,
    slug: `game-${suffix}`,
    title: `${title.join(" ")}${pick(suffixes, random)}`,
    developer: `${word(random)} ${word(random)} ${pick(studios, random)}`,
    description: `${Array.from({ length: 40 + Math.floor(random() * 60) }, () => word(random)).join(" ")}.`,
    tags: [...new Set([pick(tags, random), pick(tags, random), pick(tags, random)])],
    // Only few games are popular.
    popularity: Math.floor(random() ** 8 * 5_000),
    createdAt: new Date(Date.UTC(2026, 0, 1) - Math.floor(random() * 5 * 365 * 86_400_000)).toISOString(),
  };
}

/** Returns a random word; common words are more frequent. */
function word(random: () => number): string {
  return words[Math.floor(random() ** 2 * words.length)] ?? "the";
}

function pick(from: readonly string[], random: () => number): string {
  return from[Math.floor(random() * from.length)] ?? "";
}

function hex(random: () => number): string {
  return Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, "0");
}

/** Returns a Mulberry32 generator, which gives the same numbers for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
