import { createHash, randomUUID } from "node:crypto";
import { authSessionIdOf } from "#api/auth/tokens.ts";
import { createWebhookSecret } from "#api/webhooks/webhookSecrets.ts";
import { pictureIdOf } from "#api/saves/savePictures.ts";
import {
  aGame,
  aGameSessionRow,
  aPartner,
  aSaveSlot,
  aUser,
  type TestGame,
  type TestPartner,
  type TestUser,
} from "#test/factories/catalog.ts";
import { aPng, aSavePicture } from "#test/factories/pictures.ts";
import type { TestApi } from "../http/api.ts";
import type { KnownValues } from "./sampleRequest.ts";

/** A player with a running session, and the partner of its game. */
export interface Owned {
  user: TestUser;
  partner: TestPartner;
  game: TestGame;
  /** Values that refer to these objects in requests. */
  known: KnownValues;
}

/** The same values, referring to nothing. */
export const unknownNames: KnownValues = {
  slug: "no-such-game",
  gameSlug: "no-such-game",
  gameId: "no-such-game",
  sessionId: "gs-none",
  runId: "gs-none",
  connectionId: "connection-1",
  provider: "none",
  slotId: "no-such-slot",
  uploadId: "no-such-upload",
  versionId: "no-such-version",
  gameVersionId: "no-such-version",
  channel: "no-such-channel",
  seconds: "5",
  testerId: "no-such-tester",
  linkId: "no-such-link",
  linkToken: "no-such-token",
  webhookId: "no-such-webhook",
  deliveryId: "no-such-delivery",
  // Receivers of webhooks are on loopback; nothing listens there.
  url: "http://127.0.0.1:9/webhook",
  pictureId: "0".repeat(32),
  signInId: "0".repeat(64),
  avatarId: "00000000-0000-0000-0000-000000000000",
};

/** Creates new rows, so that requests do not affect other tests. */
export async function ownedThings({ deps }: TestApi): Promise<Owned> {
  const [user, partner] = await Promise.all([aUser(deps), aPartner(deps)]);
  const game = await aGame(deps, { partnerId: partner.id });
  const { prisma } = deps.postgres;
  await prisma.gameVersion.update({
    where: { id: game.versionId ?? "" },
    data: { rootFiles: ["run.sh"], rootDirectories: ["engine"] },
  });
  const { id } = await aGameSessionRow(deps, { user, game });
  const { id: slotId } = await aSaveSlot(deps, { user, game, number: 2 });
  const objectKey = `saves/${slotId}/1-gs-a-1.tar.gz`;
  const { id: versionId } = await prisma.saveVersion.create({
    data: {
      slotId,
      kind: "played",
      objectKey,
      sha256: "a".repeat(64),
      bytes: 1n,
      generation: 1,
    },
  });
  await prisma.savePicture.create({ data: { objectKey, slotId, bytes: aSavePicture().length } });
  const avatar = aPng({ width: 16, height: 16 });
  const { id: avatarId } = await prisma.userPicture.create({
    // Another player's: the player's own is replaced by the requests that change it.
    data: {
      id: randomUUID(),
      userId: (await aUser(deps)).id,
      type: "image/png",
      content: new Uint8Array(avatar),
    },
  });
  await prisma.gameVerification.create({
    data: {
      versionId: game.versionId ?? "",
      gameId: game.id,
      state: "running",
      sessionId: `gs-${game.slug}`,
    },
  });
  await prisma.gameChannel.create({
    data: { gameId: game.id, name: "beta", versionId: game.versionId ?? "" },
  });
  const { id: testerId } = await prisma.gameTester.create({
    data: { gameId: game.id, channel: "beta", email: `tester-${game.slug}@example.test` },
  });
  const linkToken = `link-${game.slug}`;
  const { id: linkId } = await prisma.playLink.create({
    data: {
      gameId: game.id,
      channel: "beta",
      tokenHash: createHash("sha256").update(linkToken).digest("hex"),
      expiresAt: new Date(Date.now() + 3_600_000),
    },
  });
  await prisma.playLinkPlayer.create({ data: { linkId, userId: user.id } });
  const webhookId = randomUUID();
  const deliveryId = `msg_${webhookId}`;
  await prisma.webhookEndpoint.create({
    data: {
      id: webhookId,
      partnerId: partner.id,
      url: unknownNames["url"] ?? "",
      secret: deps.webhookSecrets.seal(webhookId, createWebhookSecret()),
      deliveries: {
        create: {
          id: deliveryId,
          type: "webhook.test",
          data: { webhookId },
          nextAttemptAt: new Date(Date.now() + 3_600_000),
          expiresAt: new Date(Date.now() + 86_400_000),
        },
      },
    },
  });
  const uploadId = `upload-${game.slug}`;
  await prisma.resumableUpload.create({
    data: {
      id: uploadId,
      gameId: game.id,
      objectKey: `archives/${game.id}/${uploadId}.tar.gz`,
      multipartId: "none",
      length: 1000n,
      metadata: "",
      keyId: partner.keyId,
      address: "192.0.2.1",
      requestId: "none",
      expiresAt: new Date(Date.now() + 3_600_000),
    },
  });
  const { sid } = await deps.authSessions.create(user.id);
  const [provider = unknownNames["provider"] ?? ""] = deps.oauthProviders.keys();
  return {
    user,
    partner,
    game,
    known: {
      ...unknownNames,
      launcher: "run.sh",
      engineDir: "engine",
      slug: game.slug,
      gameSlug: game.slug,
      gameId: game.id,
      sessionId: id,
      runId: id,
      slotId,
      uploadId,
      versionId,
      pictureId: pictureIdOf(objectKey),
      gameVersionId: game.versionId ?? "",
      channel: "beta",
      testerId,
      linkId,
      linkToken,
      webhookId,
      deliveryId,
      email: user.email,
      password: user.password,
      signInId: authSessionIdOf(sid),
      provider,
      avatarId,
      picture: avatar.toString("base64"),
    },
  };
}
