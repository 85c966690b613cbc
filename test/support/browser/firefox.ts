import { existsSync } from "node:fs";
import { launch, type Browser } from "puppeteer-core";

const executablePath = process.env["FIREFOX"] ?? "/usr/bin/firefox-esr";

/** Starts the installed Firefox without a display and without external requests. Close it after use. */
export async function launchFirefox(): Promise<Browser> {
  if (!existsSync(executablePath)) {
    throw new Error(
      `No browser at ${executablePath}: install the Debian package firefox-esr, or name another Firefox in FIREFOX.`,
    );
  }
  return launch({
    browser: "firefox",
    executablePath,
    headless: true,
    defaultViewport: { width: 1280, height: 720 },
    extraPrefsFirefox: {
      "media.autoplay.default": 0,
      "media.gmp-manager.updateEnabled": false,
      "network.captive-portal-service.enabled": false,
      "network.connectivity-service.enabled": false,
    },
  });
}
