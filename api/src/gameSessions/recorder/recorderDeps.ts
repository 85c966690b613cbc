import type { Deps } from "../../deps.ts";

/** What bringing rows and objects together needs. */
export type RecorderDeps = Pick<Deps, "logger" | "postgres" | "cluster" | "gameSessionWriter">;
