import type { Page } from "playwright-core";

/** Returns a real picture of a save in this colour, as a streamer takes it. */
export async function aDrawnPicture(page: Page, color: string): Promise<Buffer> {
  const address = await page.evaluate<string>(`(() => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 320, height: 180 });
    const context = canvas.getContext("2d");
    context.fillStyle = ${JSON.stringify(color)};
    context.fillRect(0, 0, 320, 180);
    context.fillStyle = "white";
    context.fillRect(120, 60, 80, 60);
    return canvas.toDataURL("image/jpeg", 0.75);
  })()`);
  const jpeg = Buffer.from(address.slice(address.indexOf(",") + 1), "base64");
  // Without the color profile that the browser writes behind the header.
  const profile = 20;
  return jpeg[profile + 1] === 0xe2
    ? Buffer.concat([jpeg.subarray(0, profile), jpeg.subarray(profile + 2 + jpeg.readUInt16BE(profile + 2))])
    : jpeg;
}
