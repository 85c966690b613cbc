/** One mebibyte in bytes. MB in the interfaces also means mebibytes. */
export const mebibyte = 2 ** 20;

/**
 * Limits that several programs share or that the HTTP interface promises. They are defaults; configuration
 * can override them where noted.
 */
export const limits = {
  auth: {
    /** Failed sign-ins for one e-mail address within the window before it is locked. */
    failuresBeforeLock: 5,
    failureWindowSeconds: 15 * 60,
    /** Durations of successive locks. The last one repeats. */
    lockSeconds: [60, 5 * 60, 15 * 60, 30 * 60, 60 * 60],
    lockLevelMemorySeconds: 24 * 3600,
    failuresPerIp: 20,
    postsPerIpPerMinute: 60,
    readsPerIpPerMinute: 120,
    tokenLifetimeSeconds: 30 * 24 * 3600,
    bcryptCost: 12,
    /** Maximum number of password checks that wait for a worker. More are refused with 503. */
    passwordQueue: 32,
    emailMaxLength: 254,
    nameMaxLength: 120,
    /** Applies to new passwords. Existing ones stay valid. */
    passwordMinLength: 8,
    passwordMaxLength: 1024,
    /** Maximum age of a sign-in that may change sign-in methods without the password. */
    recentSignInSeconds: 5 * 60,
    accountChangesPerMinute: 30,
    /**
     * Requests for mail, such as a password reset: per network address and hour, configurable, and per
     * account.
     */
    mailRequestsPerIpPerHour: 30,
    mailRequestsPerAccountPerHour: 5,
    /** Lifetimes of one-time links in seconds. A printed link lives longer, because an admin passes it on. */
    link: {
      invitationSeconds: 3 * 86_400,
      resetSeconds: 3600,
      printedResetSeconds: 86_400,
      /** An account that is not confirmed within this time is deleted. */
      confirmationSeconds: 86_400,
      emailChangeSeconds: 3600,
    },
    /** Maximum number of listed sign-ins. The most recently used ones are listed. */
    signInsListed: 100,
    /** Minimum interval between updates of a sign-in's last-used time. */
    lastUseSeconds: 5 * 60,
    bodyBytes: 8 * 1024,
    /** A player's picture: its size in bytes, and the length of a side in pixels. */
    avatar: { bytes: 256 * 1024, sideMin: 16, sideMax: 1024 },
    /** Time to change one's mind about deleting an account. */
    deletionDays: 14,
    exportsPerHour: 10,
  },
  catalog: {
    pageDefault: 1,
    pageSizeDefault: 20,
    pageSizeMax: 50,
    searchMaxLength: 100,
    requestsPerMinute: 120,
    popularWindowDays: 30,
  },
  /** Pages of the player's sessions and of their games by play time. */
  history: { pageSizeDefault: 20, pageSizeMax: 50 },
  saveSlotsPerGame: 3,
  idempotency: {
    keyMaxLength: 255,
    /** How long a response is kept for repeated requests. */
    keptSeconds: 24 * 3600,
    /**
     * A request without a response after this time counts as lost with its process. Longer requests renew
     * their lease before it expires.
     */
    leaseSeconds: 60,
  },
  gameSession: {
    activePerUser: 1,
    launchesPerMinute: 10,
    launchesPerHour: 60,
    pollsPerMinute: 120,
    stopsPerMinute: 30,
    /** How long a session remains readable after its end. */
    endedReadableSeconds: 24 * 3600,
    idleTimeoutSeconds: 30 * 60,
    /**
     * Idle timeouts until a GameSession expires after a keepalive. Its database row expires after one, so the
     * operator ends an idle session only if the API's sweeper did not.
     */
    expiryMargin: 1.25,
    startDeadlineSeconds: 120,
    downloadDeadlineSeconds: 60,
    maxDurationSeconds: 8 * 3600,
    /** With less play time left, no game is launched. Also the shortest duration of a session. */
    playSecondsMin: 60,
    /** Largest limits of the play time: no limit at all. */
    playHoursMax: { perDay: 24, perMonth: 744 },
    ttlSecondsAfterFinished: 300,
    /** How long `POST stop` waits for the session to end before it responds. */
    stopWaitSeconds: 30,
    /** Time from the close request to a game's windows until its processes get SIGTERM. */
    closeSeconds: 1,
    /**
     * Time from SIGTERM until a game is killed. With the close request it ends within 20 seconds, so that a
     * stop still responds with its statistics.
     */
    stopGraceSeconds: { min: 1, max: 19, default: 5 },
    noServersRetryAfterSeconds: 10,
    pollIntervalSeconds: 2,
    /** Maximum number of concurrent event streams. */
    eventStreamsPerUser: 6,
    eventStreamsPerProcess: 2000,
    /** Maximum duration of an event stream. Clients then reconnect, which renews the sign-in. */
    eventStreamSeconds: 3600,
    eventHeartbeatSeconds: 10,
    /** Times before an idle stop at which the player is warned. */
    expiryWarningSeconds: [300, 60],
    /** Time before the maximum duration at which the player is told. */
    maxDurationWarningSeconds: 900,
    keepaliveIntervalSeconds: 60,
    /** How long a session waits for a player whose page has closed. */
    leaveGraceSeconds: 120,
    /** Number of nodes that are tried for a session before it fails. */
    placementAttempts: 2,
  },
  /** The queue of launches that wait for a seat. */
  queue: {
    /** Maximum number of waiting launches. */
    length: 200,
    /** How long a seat is held for a player who has not confirmed it. */
    confirmSeconds: 60,
    /**
     * Without a keepalive, a player loses the place after this time. Browsers run the timers of a hidden tab
     * only once a minute, so two keepalives in a row may be lost.
     */
    silentSeconds: 180,
    /** How long later launches may pass one that fits on no node. */
    passingSeconds: 600,
  },
  /** Maximum number of addresses per node that are announced to browsers. */
  announcedAddresses: 8,
  /** Relay credentials. They open connections for this long; open connections continue afterwards. */
  turnCredential: { lifetimeSeconds: 3600 },
  /** Tickets: signed permission to send an offer to a session's streamer. */
  streamTicket: {
    /** Lifetime of a ticket that is issued to a player. */
    lifetimeSeconds: 600,
    /** Lifetime of the ticket that the API adds to an offer. */
    proxyLifetimeSeconds: 60,
    /** Tolerated difference between the clocks of signers and pods. */
    leewaySeconds: 600,
    perMinute: 30,
  },
  /** Connection tests that a player may start. The page starts two per test: direct and through the relay. */
  connectionTest: { perMinute: 12 },
  /**
   * Resources that a session's game container requests: those its partner declared, otherwise an estimate
   * from earlier sessions.
   */
  resources: {
    /** For games that declare nothing. An admin can change maximum and default. */
    cpuMillicores: { min: 250, max: 4000, default: 500 },
    memoryMb: { min: 512, max: 16_384, default: 1024 },
    gpuShare: { max: 1 },
    width: { max: 1920 },
    height: { max: 1080 },
    /** Limits of what partners can declare. An admin's maximum may be lower. */
    declarable: {
      cpuMillicores: { min: 250, max: 64_000 },
      memoryMb: { min: 128, max: 512 * 1024 },
      gpuShare: { min: 1, max: 16 },
      width: { min: 320, max: 3840 },
      height: { min: 240, max: 2160 },
    },
    /** CPU request, as a multiple of the average CPU use. */
    cpuHeadroom: 1.25,
    /** Memory request, as a multiple of the average peak. */
    memoryRequestHeadroom: 1.25,
    /** Memory limit, as a multiple of the highest peak. A game that exceeds it is killed. */
    memoryHeadroom: 1.5,
    /** Next memory limit of a game that exceeded its limit, as a multiple of that limit. */
    outOfMemoryFactor: 2,
    /** Weight of the latest session in the averages. */
    newestWeight: 0.3,
    /** Shorter sessions are excluded from the averages. */
    leastPlayedSeconds: 5,
  },
  partner: {
    requestsPerMinute: 100,
    uploadsPerHour: 10,
    /** Refused archives that do not count as uploads, as a multiple of the uploads per hour. */
    refusedUploadsFactor: 3,
    picturesPerHour: 60,
    /** Uploads in chunks: a partner's unfinished ones, and the time to finish one. */
    unfinishedUploads: 8,
    unfinishedUploadHours: 24,
    uploadChunksPerMinute: 600,
    uploadMetadataMaxLength: 8192,
    /** Requests with keys that do not exist or are no longer valid. */
    unknownKeysPerIpPerMinute: 30,
    liveKeys: 2,
    /** Games that are not deleted. They are listed in one response. */
    games: 1000,
    bodyBytes: 64 * 1024,
    titleMaxLength: 120,
    descriptionMaxLength: 5000,
    tags: 20,
    tagMaxLength: 32,
    screenshots: 10,
    urlMaxLength: 2048,
    languages: 50,
    versionLabelMaxLength: 64,
    versionNotesMaxLength: 1000,
    /** Versions of a game that are listed, newest first. */
    versionsListed: 100,
    /** Archives of a game that are kept, apart from those in use. An admin can change it. */
    versionsKept: { default: 3, max: 20 },
    /** Channels of a game besides `default`. A GameCache names the version of each. */
    channels: 4,
    testers: 1000,
    /** Links of a game that have not expired, their lifetime, and the players who can open one. */
    playLinks: 50,
    playLinkHours: 168,
    playLinkHoursMax: 2160,
    playLinkPlayers: 1000,
  },
  webhook: {
    endpoints: 10,
    urlMaxLength: 2048,
    descriptionMaxLength: 200,
    /** Deliveries of an endpoint that wait. Later events are counted, but not sent. */
    queue: 1000,
    /** Time from the connection to the end of the response. */
    attemptSeconds: 10,
    /** How long a delivery is retried, with delays that double from `baseSeconds` to `maxSeconds`. */
    retrySeconds: 24 * 3600,
    backOff: { baseSeconds: 5, maxSeconds: 4 * 3600 },
    /** An endpoint without any success for this long is disabled when a delivery has used up its retries. */
    failingDays: 5,
    /** How long a rotated secret still signs. */
    rotationSeconds: 24 * 3600,
    keptDays: 30,
    responseBytes: 1024,
    /** Test events and replays together. */
    testsPerMinute: 10,
    pageSizeDefault: 20,
    pageSizeMax: 50,
  },
  /** A game's picture: its size in bytes, and the length of a side in pixels. */
  picture: { bytes: 2 * 2 ** 20, sideMin: 64, sideMax: 4096, readsPerIpPerMinute: 1200 },
  archive: {
    packedBytes: 10 * 2 ** 30,
    unpackedBytes: 40 * 2 ** 30,
    entries: 200_000,
    pathBytes: 1024,
    componentBytes: 255,
    /**
     * Total length of all paths, because readers keep each name in memory: 160 bytes for each of the maximum
     * number of entries.
     */
    pathsBytes: 32_000_000,
    /**
     * Maximum number of stored names of files, and of directories, at the root. The launcher and the engine
     * directory are always stored.
     */
    rootNames: 1000,
    /** Maximum ratio of unpacked to packed bytes, checked once more than `ratioFreeBytes` are unpacked. */
    ratio: 200,
    ratioFreeBytes: 64 * 2 ** 20,
    /**
     * Unpacked bytes allowed above that ratio while the archive's size is unknown, because an archive may
     * start with a file of zeros. A decompression bomb is unpacked up to this limit, which takes seconds. If
     * its announced size is larger than its real size, it is unpacked up to `unpackedBytes`, like an archive
     * within the ratio.
     */
    ratioAheadBytes: 2 ** 30,
  },
  save: {
    /** Interval between uploads of a save that keeps changing. */
    intervalSeconds: 60,
    /**
     * Time within which a changed save of ordinary size is written to the node's disk. A lost pod loses at
     * most this.
     */
    spoolSeconds: 10,
    /**
     * Size of the save volume, which is in memory and enforced by the kernel. The default is for games that
     * declare none.
     */
    volumeBytes: { min: 16 * 2 ** 20, max: 1 * 2 ** 30, default: 256 * 2 ** 20 },
    /** A full save volume that cannot be compressed, plus the archive's headers. */
    packedBytes: (1024 + 64) * 2 ** 20,
    unpackedBytes: 1 * 2 ** 30,
    entries: 20_000,
    /** Maximum length of a player's name for a slot, in characters. */
    labelMaxLength: 40,
    /** Restores, copies, renames, deletions and save requests per player. */
    changesPerMinute: 30,
    /** Uploads and downloads per player. */
    transfersPerHour: 60,
    /** Links that give another player a copy of a save. A player has at most `kept` unused ones. */
    link: { lifetimeSeconds: 24 * 3600, kept: 10, createdPerHour: 20, readsPerMinute: 20 },
    /**
     * The picture of a save: its largest size, and how often one is taken while the game runs. It is larger
     * than `plainBytes` unless it shows a single colour.
     */
    picture: {
      width: 320,
      height: 180,
      bytes: 64 * 1024,
      everySeconds: 10,
      plainBytes: 1800,
      readsPerMinute: 600,
    },
  },
  run: {
    /** The end of a game's output, which is kept in the object store after its session. */
    keptDays: 7,
    kept: 20_000,
    /** Runs of a game that its partner gets in one response. */
    pageSizeDefault: 20,
    pageSizeMax: 100,
    /** Days that totals cover, and their entries in one response. */
    totalsDaysDefault: 30,
    totalsDaysMax: 92,
    totalsRowsMax: 2000,
  },
  /** A session that verifies a version of a game. */
  verification: {
    /** How long it plays after it is ready. */
    playSeconds: 60,
    /** When pictures are taken, in seconds after the start of the game. */
    pictureSeconds: [5, 15, 30],
    /** What is kept of what the game was refused, and the length of each in characters. */
    refusals: 200,
    refusalLength: 512,
  },
  node: {
    heartbeatSeconds: 10,
    /** A node whose agent has been silent for this long accepts no new sessions. */
    heartbeatStaleSeconds: 35,
    /**
     * Free disk space below which a node accepts no sessions, because two saves of ordinary size would not
     * fit.
     */
    minFreeBytes: 512 * 2 ** 20,
    /** Free disk space above which it accepts sessions again. */
    enoughFreeBytes: 1 * 2 ** 30,
    /** The same limits for inodes. A session uses about a dozen. */
    minFreeFiles: 1024,
    enoughFreeFiles: 4096,
    /**
     * After this time, a new node is treated like any other even if its pinned games are not downloaded yet.
     */
    fillDeadlineSeconds: 15 * 60,
    /** Bandwidth of a background fill while the node has a session, in bytes per second. */
    fillBytesPerSecond: 16 * 2 ** 20,
    /**
     * Tolerated clock difference. Signed requests to an object store are valid for 15 minutes, stream tickets
     * for 10.
     */
    clockToleranceSeconds: 60,
    cacheEntriesReported: 256,
  },
  admin: {
    /** Maximum length of the reason why a game is hidden, in characters. */
    reasonMaxLength: 500,
  },
  /** Messages of admins to everyone who plays. */
  announcement: { messageMaxLength: 300, shownSeconds: 600 },
  maintenance: {
    /** Maximum length of the admin's message to players, in characters. */
    messageMaxLength: 400,
  },
} as const;
