/** Length of the longer side of uploaded pictures, in pixels. */
const sideMax = 256;

/**
 * Returns the picture in a file as base64 of a square JPEG. Drawing it removes what cameras write into files,
 * such as the place.
 *
 * @throws if the browser cannot read the file as a picture
 */
export async function toScaledPicture(file: Blob): Promise<string> {
  const bitmap = await createImageBitmap(file);
  const side = Math.min(bitmap.width, bitmap.height);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.max(16, Math.min(side, sideMax));
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("The browser has no canvas.");
  // JPEG has no transparency.
  context.fillStyle = "#ffffff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(
    bitmap,
    (bitmap.width - side) / 2,
    (bitmap.height - side) / 2,
    side,
    side,
    0,
    0,
    canvas.width,
    canvas.height,
  );
  bitmap.close();
  const [, data = ""] = canvas.toDataURL("image/jpeg", 0.85).split(",");
  return data;
}
