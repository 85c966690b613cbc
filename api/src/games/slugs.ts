import { slug } from "#contracts/http/text.ts";

const maxLength = 63;

/** A slug from a title: its letters and digits in plain ASCII, the rest as dashes; undefined when too little is left. */
export function slugOf(title: string): string | undefined {
  const words = title.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/['’]/g, "").replace(/[^a-z0-9]+/g, "-");
  return slug.safeParse(words.slice(0, maxLength + 1).replace(/^-+/, "").slice(0, maxLength).replace(/-+$/, "")).data;
}
