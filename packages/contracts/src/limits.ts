/** A mebibyte in bytes. Interfaces that say MB mean it, too. */
export const mebibyte = 2 ** 20;

/**
 * Every number that more than one program, or the interface itself, promises. Defaults; configuration may
 * override where noted.
 */
export const limits = {
  auth: {
    /** Failed sign-ins of one e-mail within the window before it is locked. */
    failuresBeforeLock: 5,
    failureWindowSeconds: 15 * 60,
    /** Lock durations of successive locks; the last one repeats. */
    lockSeconds: [60, 5 * 60, 15 * 60, 30 * 60, 60 * 60],
    lockLevelMemorySeconds: 24 * 3600,
    failuresPerIp: 20,
    postsPerIpPerMinute: 60,
    readsPerIpPerMinute: 120,
    tokenLifetimeSeconds: 30 * 24 * 3600,
    bcryptCost: 12,
    /** Password checks that may wait for a worker; more are refused with 503. */
    passwordQueue: 32,
    emailMaxLength: 254,
    nameMaxLength: 120,
    /** Of new passwords; older ones stay valid. */
    passwordMinLength: 8,
    passwordMaxLength: 1024,
    /** A change of how one signs in needs a sign-in that is younger, or the password. */
    recentSignInSeconds: 5 * 60,
    accountChangesPerMinute: 30,
    /** Sign-ins that are listed, the ones used last. */
    signInsListed: 100,
    /** The moment of a sign-in's last use is written down at most once in this time. */
    lastUseSeconds: 5 * 60,
    bodyBytes: 8 * 1024,
  },
  catalog: {
    pageDefault: 1,
    pageSizeDefault: 20,
    pageSizeMax: 50,
    searchMaxLength: 100,
    requestsPerMinute: 120,
    popularWindowDays: 30,
  },
  saveSlotsPerGame: 3,
  idempotency: {
    keyMaxLength: 255,
    /** How long a response is kept for those who ask again. */
    keptSeconds: 24 * 3600,
    /**
     * After this a request that has not answered was lost with its process: one that takes longer renews its
     * lease before.
     */
    leaseSeconds: 60,
  },
  gameSession: {
    activePerUser: 1,
    launchesPerMinute: 10,
    launchesPerHour: 60,
    pollsPerMinute: 120,
    stopsPerMinute: 30,
    /** How long an ended session can still be read. */
    endedReadableSeconds: 24 * 3600,
    idleTimeoutSeconds: 30 * 60,
    /**
     * How much later than its row a GameSession expires, in idle timeouts: the operator ends an idle session
     * only where the API's sweeper did not.
     */
    expiryMargin: 1.25,
    startDeadlineSeconds: 120,
    downloadDeadlineSeconds: 60,
    maxDurationSeconds: 8 * 3600,
    ttlSecondsAfterFinished: 300,
    /** How long `POST stop` waits for the end before it answers anyway. */
    stopWaitSeconds: 30,
    noServersRetryAfterSeconds: 10,
    pollIntervalSeconds: 2,
    /** Event streams open at once. */
    eventStreamsPerUser: 6,
    eventStreamsPerProcess: 2000,
    /** An event stream ends after this and is opened anew, which renews the sign-in. */
    eventStreamSeconds: 3600,
    eventHeartbeatSeconds: 10,
    /** Before its idle end, when a running session's player is warned. */
    expiryWarningSeconds: [300, 60],
    keepaliveIntervalSeconds: 60,
    /** Nodes tried for one session before it fails. */
    placementAttempts: 2,
  },
  /** Addresses of one node that browsers are told at most. */
  announcedAddresses: 8,
  /** Credentials of the relay: they open connections for so long, which then go on without them. */
  turnCredential: { lifetimeSeconds: 3600 },
  /** Signed permission to offer to a session's streamer. */
  streamTicket: {
    /** Of a ticket that a player is given. */
    lifetimeSeconds: 600,
    /** Of the one that the API itself puts on an offer. */
    proxyLifetimeSeconds: 60,
    /** Clocks of signers and pods may differ by this much. */
    leewaySeconds: 600,
    perMinute: 30,
  },
  /** Tests of a connection that a player may start; a page takes two for the two ways. */
  connectionTest: { perMinute: 12 },
  /**
   * What a session's game container asks for: what its partner declared, else by what earlier sessions used.
   */
  resources: {
    /** What a game that declares nothing asks for; an admin may change maximum and default. */
    cpuMillicores: { min: 250, max: 4000, default: 500 },
    memoryMb: { min: 512, max: 16_384, default: 1024 },
    gpuShare: { max: 1 },
    width: { max: 1920 },
    height: { max: 1080 },
    /** What can be declared at all, where an admin's maximum allows it. */
    declarable: {
      cpuMillicores: { min: 250, max: 64_000 },
      memoryMb: { min: 128, max: 512 * 1024 },
      gpuShare: { min: 1, max: 16 },
      width: { min: 320, max: 3840 },
      height: { min: 240, max: 2160 },
    },
    /** Times the average processor time, for the processors that are requested. */
    cpuHeadroom: 1.25,
    /** Times the average peak, for the memory that is requested. */
    memoryRequestHeadroom: 1.25,
    /** Times the highest peak, for the memory that the game is ended beyond. */
    memoryHeadroom: 1.5,
    /** Times the limit that a game was ended at, for its next one. */
    outOfMemoryFactor: 2,
    /** Weight of the newest session in the averages. */
    newestWeight: 0.3,
    /** A session that was played for less counts for no average. */
    leastPlayedSeconds: 5,
  },
  partner: {
    requestsPerMinute: 100,
    uploadsPerHour: 10,
    picturesPerHour: 60,
    /** Requests with keys that do not exist, or work no more. */
    unknownKeysPerIpPerMinute: 30,
    liveKeys: 2,
    /** That are not deleted: their list is one response. */
    games: 1000,
    bodyBytes: 64 * 1024,
    titleMaxLength: 120,
    descriptionMaxLength: 5000,
    tags: 20,
    tagMaxLength: 32,
    screenshots: 10,
    urlMaxLength: 2048,
    languages: 50,
  },
  /** A game's picture: its bytes, and the pixels of a side. */
  picture: { bytes: 2 * 2 ** 20, sideMin: 64, sideMax: 4096, readsPerIpPerMinute: 1200 },
  archive: {
    packedBytes: 10 * 2 ** 30,
    unpackedBytes: 40 * 2 ** 30,
    entries: 200_000,
    pathBytes: 1024,
    componentBytes: 255,
    /**
     * All paths together: whoever reads the archive keeps each name in memory. 160 bytes for each of as many
     * entries as there may be.
     */
    pathsBytes: 32_000_000,
    /**
     * Files, and directories, at the root whose names are known once it is stored; the launcher and the
     * engine's directory are known wherever they stand.
     */
    rootNames: 1000,
    /** Unpacked to packed bytes, checked once more than `ratioFreeBytes` are unpacked. */
    ratio: 200,
    ratioFreeBytes: 64 * 2 ** 20,
    /**
     * How far an archive may be ahead of that ratio while its size is not known: one can begin with a file of
     * zeros. A bomb is unpacked so far, within seconds. One that is announced to be large, and is not, is
     * unpacked up to `unpackedBytes`, as an archive that keeps the ratio is.
     */
    ratioAheadBytes: 2 ** 30,
  },
  save: {
    /** Between two uploads of a save that goes on changing. */
    intervalSeconds: 60,
    /** Within this a changed save of ordinary size is on the node's disk: what a lost pod loses at most. */
    spoolSeconds: 10,
    /** What a game may keep in its save directory, when it does not say; held to in memory by the kernel. */
    volumeBytes: { min: 16 * 2 ** 20, max: 1 * 2 ** 30, default: 256 * 2 ** 20 },
    /** A full save volume that does not compress, and the archive's own headers. */
    packedBytes: (1024 + 64) * 2 ** 20,
    unpackedBytes: 1 * 2 ** 30,
    entries: 20_000,
    /** Characters of a player's own name for a slot. */
    labelMaxLength: 40,
    /** Restores, copies, renamings, deletions and wishes to save of a player. */
    changesPerMinute: 30,
    /** Uploads and downloads of a player. */
    transfersPerHour: 60,
  },
  node: {
    heartbeatSeconds: 10,
    /** A node whose agent was silent for this long takes no new sessions. */
    heartbeatStaleSeconds: 35,
    /** Free below this, the node takes no sessions: two saves of ordinary size would not fit. */
    minFreeBytes: 512 * 2 ** 20,
    /** Free above this, it takes sessions again. */
    enoughFreeBytes: 1 * 2 ** 30,
    /** The same of inodes: a session takes a dozen. */
    minFreeFiles: 1024,
    enoughFreeFiles: 4096,
    /** A new node takes sessions as any other after this, though pinned games have not come. */
    fillDeadlineSeconds: 15 * 60,
    /** Bytes per second of a background fill while a session is on the node. */
    fillBytesPerSecond: 16 * 2 ** 20,
    /** Signed requests to an object store hold for 15 minutes, tickets to streams for 10. */
    clockToleranceSeconds: 60,
    cacheEntriesReported: 256,
  },
  maintenance: {
    /** Characters of an admin's message that players are shown. */
    messageMaxLength: 400,
  },
} as const;
