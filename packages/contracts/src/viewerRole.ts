import { z } from "zod";

/** What a viewer may do: who watches sees and hears, and their input is dropped. */
export const ViewerRole = z.enum(["play", "watch"]);
export type ViewerRole = z.infer<typeof ViewerRole>;
