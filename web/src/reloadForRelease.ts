const key = "joypod.reloadedAt";
/** A page that fails again so soon is not helped by another reload. */
const pauseMs = 60_000;

/**
 * Loads the page anew when a part of it cannot be loaded: after an upgrade the API has the parts of its own release alone, and an open page asks for those of the
 * one before. Once in a while only.
 */
export function reloadForRelease(): void {
  window.addEventListener("vite:preloadError", (event) => {
    const last = Number(sessionStorage.getItem(key) ?? 0);
    if (Date.now() - last < pauseMs) return;
    sessionStorage.setItem(key, String(Date.now()));
    event.preventDefault();
    window.location.reload();
  });
}
