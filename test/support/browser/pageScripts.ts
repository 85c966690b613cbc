import { readFile } from "node:fs/promises";
import { transformWithOxc } from "vite";

/**
 * Returns the text of scripts in test/support/browser/page, to be evaluated in a page in this order. They
 * share a global scope.
 */
export async function pageScript(...names: string[]): Promise<string> {
  const texts = await Promise.all(
    names.map((name) => readFile(new URL(`./page/${name}.ts`, import.meta.url), "utf8")),
  );
  const { code } = await transformWithOxc(texts.join("\n"), "page.ts", { sourcemap: false });
  return `(() => {\n${code}\n})()`;
}
