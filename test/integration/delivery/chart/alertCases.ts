/** Series as promtool's tests write them: `start+step x count`, one value a minute. */
type Series = Readonly<Record<string, string>>;

/** When an alert fires, and when it does not although it nearly would. */
export interface AlertCase {
  alert: string;
  fires: Series;
  isQuiet: Series;
  /** When both are looked at, in minutes; long enough for the rule's `for`. */
  atMinutes?: number;
  /**
   * How long the condition has to last, in minutes; said here and in the rule, so that neither is changed by
   * mistake. Not for a rule that fires at once.
   */
  forMinutes?: number;
  /** The first minute in which the condition holds with `fires`: 0 unless said. */
  beginsAtMinutes?: number;
}

/** Longer than any of these tests looks ahead. */
const always = "x100";
const requests = (status: string, step: number): Series => ({
  [`joypod_http_request_duration_seconds_count{namespace="joypod",route="/api/games",status="${status}"}`]: `0+${step}${always}`,
});
const starts = (step: number, bucket = "60"): Series => ({
  [`joypod_session_start_seconds_bucket{namespace="joypod",le="${bucket}"}`]: `0+${step}${always}`,
  'joypod_session_start_seconds_bucket{namespace="joypod",le="30"}':
    bucket === "30" ? `0+${step}${always}` : `0${always}`,
  'joypod_session_start_seconds_bucket{namespace="joypod",le="+Inf"}': `0+${step}${always}`,
  'joypod_session_start_seconds_count{namespace="joypod"}': `0+${step}${always}`,
});
const failures = (step: number): Series => ({
  'joypod_launches_failed_total{namespace="joypod",stage="booting",reason="StartTimedOut"}': `0+${step}${always}`,
});
const gauge = (
  name: string,
  firing: number,
  quiet: number,
  labels = "",
): Pick<AlertCase, "fires" | "isQuiet"> => {
  const series = `${name}{namespace="joypod"${labels === "" ? "" : `,${labels}`}}`;
  return { fires: { [series]: `${firing}${always}` }, isQuiet: { [series]: `${quiet}${always}` } };
};
/** A counter that grows once after half an always, and one that stays. */
const counted = (name: string, labels: string, times = 1): Pick<AlertCase, "fires" | "isQuiet"> => {
  const series = `${name}{namespace="joypod",${labels}}`;
  return { fires: { [series]: `7x40 ${7 + times}x19` }, isQuiet: { [series]: `7${always}` } };
};
const condition = (type: string, firing: 0 | 1): Pick<AlertCase, "fires" | "isQuiet"> =>
  gauge("joypod_game_node_condition", firing, 1 - firing, `node="n1",condition="${type}"`);

const slots = (free: number, schedulable: number): Series => ({
  'joypod_game_node_slots_free{namespace="joypod",node="n1"}': `${free}${always}`,
  'joypod_game_node_slots_free{namespace="joypod",node="n2"}': `0${always}`,
  'joypod_game_node_schedulable{namespace="joypod",node="n1"}': `${schedulable}${always}`,
});
const operatorLeads: Series = {
  'joypod_leader{namespace="joypod",program="operator",pod="a"}': `1${always}`,
};
/** Of another installation that the same Prometheus reads. */
const othersLead: Series = {
  'joypod_leader{namespace="other",program="operator"}': `1${always}`,
  'joypod_leader{namespace="other",program="api"}': `1${always}`,
};

/** One for each alert of the chart. */
export const alertCases: readonly AlertCase[] = [
  {
    alert: "JoypodNoLeader",
    forMinutes: 2,
    fires: {
      'joypod_leader{namespace="joypod",program="operator",pod="a"}': `0${always}`,
      'joypod_leader{namespace="joypod",program="operator",pod="b"}': `0${always}`,
    },
    isQuiet: {
      ...operatorLeads,
      'joypod_leader{namespace="joypod",program="operator",pod="b"}': `0${always}`,
    },
  },
  {
    alert: "JoypodMetricsAbsent",
    forMinutes: 10,
    fires: { ...operatorLeads, ...othersLead },
    isQuiet: { ...operatorLeads, 'joypod_leader{namespace="joypod",program="api"}': `0${always}` },
  },
  { alert: "JoypodStoreUnready", forMinutes: 2, ...gauge("joypod_store_ready", 0, 1, 'store="database"') },
  {
    alert: "JoypodErrorResponses",
    forMinutes: 10,
    beginsAtMinutes: 1,
    fires: { ...requests("200", 90), ...requests("503", 10) },
    isQuiet: { ...requests("200", 97), ...requests("503", 3) },
  },
  {
    alert: "JoypodDatabaseConnectionsExhausted",
    forMinutes: 5,
    fires: { 'joypod_database_waiting{instance="a"}': `2${always}` },
    isQuiet: { 'joypod_database_waiting{instance="a"}': "2 0 ".repeat(50) },
  },
  {
    alert: "JoypodWatchesFailing",
    forMinutes: 5,
    beginsAtMinutes: 6,
    ...rate("joypod_kube_watch_ends_total", 'reason="failed",resource="pods",pod="a"', 1, 0.3),
  },
  {
    alert: "JoypodReconcilesFailing",
    forMinutes: 10,
    beginsAtMinutes: 6,
    ...rate("joypod_kube_reconciles_total", 'outcome="failed",controller="gamesession",pod="a"', 4, 1),
  },
  {
    alert: "JoypodNetworkPoliciesNotEnforced",
    forMinutes: 10,
    ...gauge("joypod_operator_network_policies_enforced", 0, 1),
  },
  {
    alert: "JoypodNoGameNodes",
    forMinutes: 5,
    fires: { ...operatorLeads, 'joypod_game_node_schedulable{namespace="joypod",node="n1"}': `0${always}` },
    isQuiet: {
      ...operatorLeads,
      'joypod_game_node_schedulable{namespace="joypod",node="n1"}': `0${always}`,
      'joypod_game_node_schedulable{namespace="joypod",node="n2"}': `1${always}`,
    },
  },
  { alert: "JoypodNoFreeSlots", forMinutes: 10, fires: slots(0, 1), isQuiet: slots(1, 1) },
  { alert: "JoypodNodeSilent", forMinutes: 2, ...gauge("joypod_game_node_silent", 1, 0, 'node="n1"') },
  { alert: "JoypodNodeLossBrake", forMinutes: 1, ...gauge("joypod_operator_node_loss_brake", 1, 0) },
  {
    alert: "JoypodNodeNotReady",
    forMinutes: 15,
    fires: {
      'joypod_game_node_schedulable{namespace="joypod",node="n1"}': `0${always}`,
      ...condition("Draining", 0).fires,
    },
    isQuiet: {
      'joypod_game_node_schedulable{namespace="joypod",node="n1"}': `0${always}`,
      ...condition("Draining", 1).fires,
    },
  },
  { alert: "JoypodCacheFull", forMinutes: 10, ...condition("DiskPressure", 1) },
  { alert: "JoypodNodeStoreUnreachable", forMinutes: 5, ...condition("StoreReachable", 0) },
  { alert: "JoypodSessionsSetAside", forMinutes: 1, ...condition("SessionsSetAside", 1) },
  {
    alert: "JoypodDownloadsFailing",
    ...rate("joypod_node_downloads_total", 'node="n1",outcome="failed",reason="StoreUnreachable"', 0.2, 0.05),
  },
  {
    alert: "JoypodLaunchesFailing",
    forMinutes: 1,
    beginsAtMinutes: 3,
    fires: { ...failures(1), ...starts(2) },
    isQuiet: { ...failures(1), ...starts(9) },
  },
  {
    alert: "JoypodLaunchesSlow",
    forMinutes: 5,
    beginsAtMinutes: 5,
    fires: starts(1, "60"),
    isQuiet: starts(1, "30"),
  },
  { alert: "JoypodUnsavedEnds", ...counted("joypod_sessions_finished_total", 'reason="SaveNotStored"') },
  {
    alert: "JoypodSavesWaiting",
    forMinutes: 5,
    ...gauge("joypod_saves_waiting_oldest_seconds", 901, 899, 'node="n1"'),
  },
  { alert: "JoypodSavesFailing", ...counted("joypod_node_saves_total", 'node="n1",outcome="failed"') },
  { alert: "JoypodSavesUnreadable", forMinutes: 5, ...gauge("joypod_saves_unreadable", 1, 0) },
  { alert: "JoypodUploadsFailing", ...counted("joypod_uploads_total", 'kind="game",outcome="failed"', 3) },
  // A still picture is repeated every 50 ms, and a little later where the node is busy.
  {
    alert: "JoypodStreamFramesLow",
    forMinutes: 5,
    ...gauge("joypod_stream_frames_per_second", 17, 19, 'node="n1",statistic="mean"'),
  },
  {
    alert: "JoypodStreamersUnanswered",
    forMinutes: 5,
    ...gauge("joypod_streamers_unanswered", 1, 0, 'node="n1"'),
  },
  {
    alert: "JoypodSoftwareRendering",
    ...counted("joypod_sessions_unaccelerated_total", 'reason="NoRenderNode"'),
  },
  {
    alert: "JoypodRelayDown",
    forMinutes: 5,
    fires: {
      'joypod_relays{namespace="joypod",state="told"}': `1${always}`,
      'joypod_relays{namespace="joypod",state="untold"}': `1${always}`,
    },
    isQuiet: {
      'joypod_relays{namespace="joypod",state="told"}': `1${always}`,
      'joypod_relays{namespace="joypod",state="untold"}': `0${always}`,
    },
  },
  {
    alert: "JoypodRelayFull",
    forMinutes: 5,
    beginsAtMinutes: 1,
    ...rate("joypod_turn_allocations_refused_total", 'pod="a"', 1, 0),
  },
  {
    alert: "JoypodRelayCertificateExpiring",
    forMinutes: 60,
    beginsAtMinutes: 1,
    ...gauge("joypod_turn_certificate_expiry_timestamp_seconds", 14 * 86_400, 16 * 86_400),
    atMinutes: 90,
  },
];

function rate(
  name: string,
  labels: string,
  firing: number,
  quiet: number,
): Pick<AlertCase, "fires" | "isQuiet"> {
  const series = `${name}{namespace="joypod",${labels}}`;
  return { fires: { [series]: `0+${firing}${always}` }, isQuiet: { [series]: `0+${quiet}${always}` } };
}
