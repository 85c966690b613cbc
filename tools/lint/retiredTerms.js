/**
 * A retired term, or several that one word replaces: how names and sentences show them, and what to say
 * instead.
 */

/** Matches names that have these words in a row. */
const has =
  (...row) =>
  (words) =>
    words.some((_, at) => row.every((word, index) => words[at + index] === word));
/** Matches names that have one of these words. */
const hasAny =
  (...row) =>
  (words) =>
    row.some((word) => words.includes(word));
/**
 * Matches names that end with one of these words: before another noun each is the field's own
 * ("standingDelay", "wellFormed").
 */
const endsWith =
  (...row) =>
  (words) =>
    row.includes(words.at(-1));
const isPredicate = (words) => ["is", "has"].includes(words[0]);

/**
 * Terms that have no other use: refused in names, comments and sentences, and by proseTerms.js in files that
 * oxlint does not read.
 */
export const unmistakable = [
  { name: hasAny("turnstile", "turnstiles"), text: /\bturnstiles?\b/i, say: "semaphore" },
  { name: hasAny("curtain"), text: /\bcurtains?\b/i, say: "overlay" },
  { name: hasAny("fate", "fates"), text: /\bfates?\b|\bfateOf/i, say: "action, as in nodeActionFor" },
  { name: hasAny("hopeless"), text: /\bhopeless/i, say: "terminal, as in terminalReasons" },
  { name: hasAny("namesake", "namesakes"), text: /\bnamesakes?\b/i, say: "user with the same email" },
  {
    name: hasAny("superfluous"),
    text: /\bsuperfluous\b/i,
    say: "what is done with it, as in cookiesToEvict",
  },
  { name: hasAny("hasten", "hastens"), text: /\bhastens?\b/i, say: "retry now" },
  { name: hasAny("telling", "tellings"), text: /\btellings\b/i, say: "message" },
  {
    name: hasAny("doubt", "doubts", "doubtful"),
    text: /\bdoubts?\b|\bdoubtful\b|\bdoubtsAbout/i,
    say: "warning, or unknown for a node's health",
  },
  { name: hasAny("refusal", "refusals"), text: /\brefusals?\b/i, say: "error response, or error" },
  { name: hasAny("witness", "witnesses"), text: /\bwitness(es)?\b/i, say: "health signal" },
  { name: hasAny("weakness", "weaknesses"), text: /\bweakness(es)?\b/i, say: "vulnerability" },
  { name: hasAny("sparring"), text: /\bsparring\b/i, say: "peer" },
  {
    name: hasAny("spoil", "spoils", "spoilt", "spoiling"),
    text: /\bspoil(s|t|ing)?\b/i,
    say: "corrupt or damaged",
  },
  {
    name: hasAny("judge", "judges", "judged"),
    text: /\bjudg(es?|ed|ing)\b/i,
    say: "check, resolve or decide",
  },
  { name: hasAny("farewell"), text: /\bfarewells?\b/i, say: "close or closing message" },
  {
    name: (words) =>
      words[0] === "played" &&
      hasAny("operator", "parts", "components", "platform", "cluster", "kubelet")(words),
    text: /\bplayed (operator|parts|components|platform|cluster|kubelet)\b|\bPlayed[A-Z]/,
    say: "fake, as in FakeOperator",
  },
  { name: has("held", "offer"), text: /\bheld offers?\b/i, say: "pending offer" },
  { name: has("own", "page"), text: /\brequireOwnPage/, say: "trusted origin" },
  { name: has("other", "pages"), text: /\ballowOtherPages/, say: "CORS" },
  {
    name: (words) => words.at(-1) === "away",
    text: /(?<!\byou )\b(is|are|was|were) away\b/i,
    say: "unavailable",
  },
  { name: () => false, text: /\bhardly meant like this\b/i, say: "looks unsafe" },
];

/** Terms that are also words of ordinary sentences: refused in names alone. */
export const ambiguous = [
  { name: endsWith("lanes"), say: "semaphore" },
  { name: endsWith("well"), say: "healthy" },
  { name: endsWith("standing"), say: "context, as in IdentityContext" },
  {
    name: (words) =>
      !isPredicate(words) && (endsWith("ending", "endings")(words) || has("ending", "of")(words)),
    say: "end, or stop cause",
  },
  {
    name: (words) => endsWith("asks")(words) || (words[0] === "every" && words[1] === "ask"),
    say: "request",
  },
  { name: endsWith("wild"), say: "faulty" },
  { name: has("game", "tag"), say: "gameEtag" },
  { name: (words) => words.join() === "game,event", say: "gameAuditEvent" },
  {
    name: (words) => has("game", "account")(words) || has("termination", "account")(words),
    say: "termination report",
  },
  {
    name: hasAny("answer", "answers"),
    say: "response, or respond for what a function does; the one to an offer is an sdpAnswer",
    isPublic: isSdpAnswer,
  },
  {
    name: hasAny("stage", "stages"),
    say: "what it is: step, pipeline, view, fixture or check",
    isPublic: isLaunchStage,
  },
];

/** Names that files had, where the words alone would do in code. */
export const fileNames = {
  trail: "auditTrail",
  sharing: "sharedLimits",
  partnersWords: "partnerInput",
  faults: "errorHandling",
};

/**
 * WebRTC calls the second half of a negotiation an answer: a name of one says which (`sdpAnswer`,
 * `WhepAnswer`), or its type does.
 */
function isSdpAnswer(words, { typeNames }) {
  return (
    has("sdp", "answer")(words) ||
    has("whep", "answer")(words) ||
    typeNames.some((name) => /^(Sdp|Whep)Answer$/.test(name))
  );
}

/**
 * The interface has a field `stage`, whose name is public. What declares or holds it may be called so: the
 * field itself, a schema, and what is read from one of these; what a program does in stages of its own may
 * not.
 */
function isLaunchStage(words, { isProperty, isSchema, typeNames, sources }) {
  const isNamed = (name) => /stages?/i.test(name);
  return (
    (isProperty && words.join() === "stage") || isSchema || typeNames.some(isNamed) || sources.some(isNamed)
  );
}
