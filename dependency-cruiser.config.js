// Who may import whom, for all programs. An import points down: from a room to one that stands after it in
// its list, never up and never round in a circle. What a room may know follows from its place, so that a
// reader who opens one needs to read those below it and no other.

/** Each package, with those that it may import. */
const packages = {
  contracts: [],
  runtime: [],
  archive: ["contracts"],
  s3: ["runtime"],
  kube: ["runtime"],
  publish: ["contracts", "runtime", "archive"],
  api: ["contracts", "runtime", "archive", "s3", "kube"],
  operator: ["contracts", "runtime", "kube"],
  kubectl: ["contracts", "runtime", "kube"],
  "node-agent": ["contracts", "runtime", "archive", "s3", "kube"],
  packer: ["contracts", "runtime", "archive"],
  // What the streamer does in the packer's place, while a launch cannot wait for that to start.
  streamer: ["contracts", "runtime", "packer"],
  web: ["contracts"],
};

/**
 * The rooms of a program from top to bottom: folders or files of its src, on lines of one thought each. A
 * room within another one that has a place of its own is no part of that one: `auth` is what stands in auth/
 * beside the places of auth/oauth and auth/tokens.ts.
 */
const rooms = {
  contracts: [
    // What streamers say, to browsers and of themselves; HTTP, the tickets that both take, and the kinds.
    "nodeTest.ts",
    "inputActivity.ts",
    "stream.ts",
    "http",
    "streamTicket.ts",
    "spool.ts",
    "crd",
    "observations.ts",
    // What these are made of, and what stands alone.
    "announcement.ts",
    "maintenance.ts",
    "limits.ts",
    "streamQuality.ts",
    "videoCodec.ts",
    "viewerRole.ts",
    "termination.ts",
    "connectionTest.ts",
    "nodeLayout.ts",
    "objectKeys.ts",
    "pagePaths.ts",
  ],
  api: [
    // Programs, and what puts them together: the configuration knows what every noun is told.
    "main.ts",
    "cli",
    "installation",
    "app.ts",
    "routes.ts",
    "createDeps.ts",
    "config.ts",
    "variables.ts",
    "background",
    // The nouns.
    "stream",
    "connectionTests",
    "gameSessions/history",
    "gameSessions/runs",
    "gameSessions/sessions/routes.ts",
    "gameSessions/sessions",
    "gameSessions/queue",
    "gameSessions/verification",
    "gameSessions/launching",
    "gameSessions/recording",
    "gameSessions/playLimits",
    "catalog",
    "groups",
    "games/pictures",
    "games/channels",
    "games/resumable",
    "games/versions",
    "games/verification",
    "games",
    "games/upload",
    "saves",
    "games/gameVisibility.ts",
    "webhooks",
    "partners",
    "accounts",
    "auth/oauth/routes.ts",
    "auth",
    "auth/oauth",
    "auth/email.ts",
    "auth/tokens.ts",
    "auth/linkToken.ts",
    "audit",
    "maintenance",
    "mail",
    // What knows no noun: archives on their way, HTTP, the cluster, the stores.
    "archives",
    "http/openapi",
    "http",
    "cluster",
    "stores",
    "errors.ts",
    "metrics.ts",
    "rbac.ts",
    "generated",
  ],
  "node-agent": [
    // The program, and what puts it together.
    "main.ts",
    "agent.ts",
    // What the node reports, what its sessions need, and what their packers and the cluster's policies ask
    // for.
    "status",
    "checks",
    "sessions/reconciler.ts",
    "sessions/steps",
    "sessions",
    "spool",
    "metrics.ts",
    "cache",
    // Archives, the object store, the disk, and what is watched.
    "unpack",
    "objectStore",
    "disk",
    "cluster",
    "config.ts",
    "rbac.ts",
  ],
  streamer: [
    // The programs, one for a session and one each for tests of connections, of nodes and of single machines,
    // and what the first says of itself.
    "main.ts",
    "connectionTest",
    "nodeTest",
    "machineTest",
    "streamer.ts",
    "status.ts",
    "verification",
    "streamPipeline.ts",
    "signalling",
    "termination",
    "saves",
    // The stream, from the viewer down to the display.
    "transport",
    "input",
    "media",
    "display",
    "sound",
    // What knows no part of the stream.
    "rtp",
    "processes.ts",
    "config.ts",
    "errors.ts",
    "gstreamer-superficial.d.ts",
    "x11.d.ts",
  ],
  packer: [
    "main.ts",
    "packer.ts",
    "scanInterval.ts",
    "restore",
    "pack",
    "save",
    "spool",
    "config.ts",
    "errors.ts",
  ],
  runtime: [
    // The life of a program.
    "program",
    // Work over time: jobs, queues, deadlines and the clock.
    "scheduling",
    // TLS authorities and connection errors.
    "network",
    "releaseMemory.ts",
    "printableText.ts",
    "textTable.ts",
    "logger.ts",
    "errors.ts",
    "base32.ts",
  ],
  operator: [
    // Programs, and what puts the controllers together.
    "main.ts",
    "terms.ts",
    "networkTest",
    "nodeTest",
    "drain",
    "operator.ts",
    // One controller per kind.
    "controllers/gameSession/controller.ts",
    "controllers/gameSession/reconciler.ts",
    "controllers/gameSession/steps",
    "controllers/gameSession",
    "controllers/gameCache",
    "controllers/gameNode",
    // What is shown to Prometheus of all that.
    "figures",
    // What several controllers ask: may games have the internet, what shall a node hold, what does a node
    // have, what is in the cluster; and how streams are.
    "networkProbe",
    "content",
    "relay",
    "nodes",
    "cluster",
    "streamers",
    "sessionPods",
    "throttle.ts",
    "metrics.ts",
    "config.ts",
    // What sessions take of GPUs, what nodes offer, and what the site adds to session pods.
    "gpu",
    "addedMetadata.ts",
    "rbac.ts",
  ],
  publish: [
    // The program, and the order of its steps.
    "main.ts",
    "program.ts",
    "gameCommands.ts",
    "connect.ts",
    "output/publishedText.ts",
    "publish.ts",
    "waitForDistribution.ts",
    "waitForVerification.ts",
    // The steps.
    "upload",
    "server",
    "pack",
    "output",
    "config.ts",
    "publishError.ts",
  ],
  kubectl: [
    // The program, and its commands.
    "main.ts",
    "program.ts",
    "maintenanceCommands.ts",
    "adminCommand.ts",
    "playerCommands.ts",
    "completion.ts",
    "arguments.ts",
    "environment.ts",
    "terminal.ts",
    // What the commands show.
    "supportBundle",
    "status",
    "session",
    "tables.ts",
    // What is read of the cluster, and how it is written down.
    "cluster",
    "output.ts",
    "adminError.ts",
  ],
  web: [
    // The page, and what surrounds its parts.
    "main.tsx",
    "App.tsx",
    "PageFailure.tsx",
    "queryClient.ts",
    "translation.ts",
    "layout",
    // What a player comes for.
    "signUp",
    "account",
    "history",
    "saveLinks",
    "playtest",
    "catalog",
    "play",
    "saves",
    // What these share: how a game is launched, and how its picture shall be, the test of the connection, who
    // is there, and what holds for all.
    "launch",
    "quality",
    "connectionTest",
    "signIn",
    "service",
    "components",
    // The stream, which works without any page, and the API's calls.
    "stream",
    "client",
    // The page's text.
    "i18n.ts",
    "locales",
    "styles",
  ],
  kube: [
    // Controllers, leader election and events.
    "controllers",
    // Local copies of the cluster's objects.
    "cache",
    // Requests to the API server.
    "client",
    // The conventions of the Kubernetes API.
    "api",
  ],
};

/** The folder of each package that does not stand at the top level. */
const folders = {
  ...Object.fromEntries(
    ["contracts", "runtime", "archive", "s3", "kube", "publish"].map((name) => [name, `packages/${name}`]),
  ),
  packer: "session/packer",
  streamer: "session/streamer",
};
const folderOf = (name) => folders[name] ?? name;

function packageRules() {
  return Object.entries(packages).map(([name, allowed]) => ({
    name: `${name}-imports-only-what-it-may`,
    comment: `${name} may import ${allowed.length === 0 ? "no other package" : allowed.join(", ")}: design of the packages, docs/architecture.md.`,
    severity: "error",
    from: { path: `^${folderOf(name)}/` },
    to: {
      path: "^[a-z0-9-]+/",
      pathNot: `^(${[...[name, ...allowed].map(folderOf), "node_modules"].join("|")})/`,
      dependencyTypesNot: ["core", "npm", "npm-dev"],
    },
  }));
}

/** Matches what is in the room, and not in a room within it that has a place of its own. */
function roomPath(room, order) {
  const within = order
    .filter((other) => other.startsWith(`${room}/`))
    .map((other) => other.slice(room.length));
  return `${room}${within.length === 0 ? "" : `(?!(${within.join("|")})(/|$))`}(/|$)`;
}

function roomRules() {
  return Object.entries(rooms).flatMap(([name, order]) =>
    order.slice(1).map((room, index) => {
      const above = order.slice(0, index + 1);
      return {
        name: `${name}-${room.replace(/\.tsx?$/, "")}-imports-nothing-above-it`,
        comment: `${name}/src/${room} stands below ${above.join(", ")}: pass in what it needs, or move what both need further down.`,
        severity: "error",
        from: { path: `^${folderOf(name)}/src/${roomPath(room, order)}` },
        to: { path: `^${folderOf(name)}/src/(${above.map((other) => roomPath(other, order)).join("|")})` },
      };
    }),
  );
}

/** Controllers know each other's objects only: what two of them need is a room below both. */
const controllerRule = {
  name: "operator-controllers-import-no-other-controller",
  comment:
    "What two controllers need has a room of its own below them in operator/src, such as content, nodes or sessionPods.",
  severity: "error",
  from: { path: "^operator/src/controllers/([^/]+)/" },
  to: { path: "^operator/src/controllers/", pathNot: "^operator/src/controllers/$1/" },
};

/**
 * A file or folder that no list names has no place yet: neither one that imports something nor one that is
 * imported.
 */
function placeRules() {
  return Object.entries(rooms).flatMap(([name, order]) => {
    const path = `^${folderOf(name)}/src/(?!(${order.join("|")})(/|$))`;
    const comment = `Give the new folder or file a place in the list of ${name}'s rooms in dependency-cruiser.config.js.`;
    return [
      { name: `${name}-has-a-place-for-every-room`, comment, severity: "error", from: { path }, to: {} },
      {
        name: `${name}-has-a-place-for-every-imported-room`,
        comment,
        severity: "error",
        from: {},
        to: { path },
      },
    ];
  });
}

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  forbidden: [
    {
      name: "no-circles",
      comment:
        "Files that import each other can only be read together: take out what both need, or pass it in.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "resolvable",
      comment: "The module does not exist.",
      severity: "error",
      from: {},
      // The streamer's image builds this one; its types stand in session/streamer/src.
      to: { couldNotResolve: true, pathNot: "^gstreamer-superficial$" },
    },
    ...packageRules(),
    ...roomRules(),
    controllerRule,
    ...placeRules(),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // deps.ts only names the types of all dependencies, so every room may pick from it.
    exclude: { path: "src/generated|^api/src/deps\\.ts$" },
    tsConfig: { fileName: "tsconfig.json" },
    // Imports of types count: they, too, are what a reader must know.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      extensions: [".ts", ".tsx", ".js", ".json"],
      conditionNames: ["import", "node", "default", "types"],
    },
  },
};
