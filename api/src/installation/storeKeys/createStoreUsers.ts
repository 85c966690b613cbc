import type { MinioAdmin, StoreKey } from "./minioAdmin.ts";

/** A program's key, and what it may do with it. */
export interface StoreUser extends StoreKey {
  /** Also the policy's name. */
  program: string;
  /** A policy in S3's language, as JSON. */
  policy: string;
}

/** Makes each program's user with its policy in MinIO, or brings it up to date. */
export async function createStoreUsers(admin: MinioAdmin, users: readonly StoreUser[]): Promise<void> {
  for (const { program, policy, accessKey, secretKey } of users) {
    await admin.putPolicy(program, policy);
    await admin.putUser({ accessKey, secretKey });
    await admin.setPolicy(accessKey, program);
  }
}
