import { z } from "zod";

/** The role of a viewer. With `watch`, a viewer receives picture and sound, and their input is dropped. */
export const ViewerRole = z.enum(["play", "watch"]);
export type ViewerRole = z.infer<typeof ViewerRole>;
