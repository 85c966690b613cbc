import { accessStorage } from "./browser.ts";

const key = "joypod.reloadedAt";
/** Another reload does not help a page that fails again within this time. */
const pauseMs = 60_000;

let isReloadingNow = false;

/** Returns whether the page reloads because of a new release, and not because the player wants it. */
export function isReloading(): boolean {
  return isReloadingNow;
}

/**
 * Reloads the page when a part of it cannot be loaded: after an upgrade the API serves only the files of its
 * release, but an open page requests those of the previous one. At most once a minute.
 */
export function reloadForRelease(): void {
  window.addEventListener("vite:preloadError", (event) => {
    if (!mayReload(() => sessionStorage, Date.now())) return;
    event.preventDefault();
    isReloadingNow = true;
    window.location.reload();
  });
}

/**
 * Returns whether the page may reload, and records the reload. Returns false right after a reload, and
 * without storage, for which `storage` throws or returns null: such a page would reload forever.
 */
export function mayReload(storage: () => Pick<Storage, "getItem" | "setItem"> | null, now: number): boolean {
  return (
    accessStorage(storage, (items) => {
      if (now - Number(items.getItem(key) ?? 0) < pauseMs) return false;
      items.setItem(key, String(now));
      return true;
    }) ?? false
  );
}
