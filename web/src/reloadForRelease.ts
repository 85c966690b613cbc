import { usingStorage } from "./client/browser.ts";

const key = "joypod.reloadedAt";
/** A page that fails again so soon is not helped by another reload. */
const pauseMs = 60_000;

/**
 * Loads the page anew when a part of it cannot be loaded: after an upgrade the API has the parts of its own
 * release alone, and an open page asks for those of the one before. Once in a while only.
 */
export function reloadForRelease(): void {
  window.addEventListener("vite:preloadError", (event) => {
    if (!mayReload(() => sessionStorage, Date.now())) return;
    event.preventDefault();
    window.location.reload();
  });
}

/**
 * Returns whether the page was not loaded anew just before, and notes that it is now. Never where the tab has
 * no storage, which `storage` may throw for or return null: such a page would do nothing but reload, and says
 * instead that it could not be shown.
 */
export function mayReload(storage: () => Pick<Storage, "getItem" | "setItem"> | null, now: number): boolean {
  return (
    usingStorage(storage, (items) => {
      if (now - Number(items.getItem(key) ?? 0) < pauseMs) return false;
      items.setItem(key, String(now));
      return true;
    }) ?? false
  );
}
