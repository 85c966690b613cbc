/** Series as promtool's tests write them: `start+step x count`, one value a minute. */
type Series = Readonly<Record<string, string>>;

/** When an alert fires, and when it does not although it nearly would. */
export interface AlertCase {
  alert: string;
  fires: Series;
  isQuiet: Series;
  /** When both are looked at, in minutes; long enough for the rule's `for`. */
  atMinutes?: number;
}

/** Longer than any of these tests looks ahead. */
const always = "x100";
const requests = (status: string, step: number): Series => ({ [`joypod_http_request_duration_seconds_count{namespace="joypod",route="/api/games",status="${status}"}`]: `0+${step}${always}` });
const starts = (step: number, bucket = "60"): Series => ({
  [`joypod_session_start_seconds_bucket{namespace="joypod",le="${bucket}"}`]: `0+${step}${always}`,
  'joypod_session_start_seconds_bucket{namespace="joypod",le="30"}': bucket === "30" ? `0+${step}${always}` : `0${always}`,
  'joypod_session_start_seconds_bucket{namespace="joypod",le="+Inf"}': `0+${step}${always}`,
  'joypod_session_start_seconds_count{namespace="joypod"}': `0+${step}${always}`,
});
const failures = (step: number): Series => ({ 'joypod_launches_failed_total{namespace="joypod",stage="booting",reason="StartTimedOut"}': `0+${step}${always}` });
const gauge = (name: string, firing: number, quiet: number, labels = ""): Pick<AlertCase, "fires" | "isQuiet"> => {
  const series = `${name}{namespace="joypod"${labels === "" ? "" : `,${labels}`}}`;
  return { fires: { [series]: `${firing}${always}` }, isQuiet: { [series]: `${quiet}${always}` } };
};
/** A counter that grows once after half an always, and one that stays. */
const counted = (name: string, labels: string, times = 1): Pick<AlertCase, "fires" | "isQuiet"> => {
  const series = `${name}{namespace="joypod",${labels}}`;
  return { fires: { [series]: `7x40 ${7 + times}x19` }, isQuiet: { [series]: `7${always}` } };
};
const condition = (type: string, firing: 0 | 1): Pick<AlertCase, "fires" | "isQuiet"> => gauge("joypod_game_node_condition", firing, 1 - firing, `node="n1",condition="${type}"`);

const slots = (free: number, schedulable: number): Series => ({
  'joypod_game_node_slots_free{namespace="joypod",node="n1"}': `${free}${always}`, 'joypod_game_node_slots_free{namespace="joypod",node="n2"}': `0${always}`,
  'joypod_game_node_schedulable{namespace="joypod",node="n1"}': `${schedulable}${always}`,
});
const operatorLeads: Series = { 'joypod_leader{namespace="joypod",program="operator",pod="a"}': `1${always}` };

/** One for each alert of the chart. */
export const alertCases: readonly AlertCase[] = [
  {
    alert: "JoypodNoLeader",
    fires: { 'joypod_leader{namespace="joypod",program="operator",pod="a"}': `0${always}`, 'joypod_leader{namespace="joypod",program="operator",pod="b"}': `0${always}` },
    isQuiet: { ...operatorLeads, 'joypod_leader{namespace="joypod",program="operator",pod="b"}': `0${always}` },
  },
  {
    alert: "JoypodMetricsAbsent",
    fires: operatorLeads,
    isQuiet: { ...operatorLeads, 'joypod_leader{namespace="joypod",program="api"}': `0${always}` },
  },
  { alert: "JoypodStoreUnready", ...gauge("joypod_store_ready", 0, 1, 'store="database"') },
  { alert: "JoypodErrorResponses", fires: { ...requests("200", 90), ...requests("503", 10) }, isQuiet: { ...requests("200", 97), ...requests("503", 3) } },
  { alert: "JoypodDatabaseConnectionsExhausted", fires: { 'joypod_database_waiting{instance="a"}': `2${always}` }, isQuiet: { 'joypod_database_waiting{instance="a"}': "2 0 ".repeat(50) } },
  { alert: "JoypodWatchesFailing", ...rate("joypod_kube_watch_ends_total", 'reason="failed",resource="pods",pod="a"', 1, 0.3) },
  { alert: "JoypodReconcilesFailing", ...rate("joypod_kube_reconciles_total", 'outcome="failed",controller="gamesession",pod="a"', 4, 1) },
  { alert: "JoypodNetworkPoliciesNotEnforced", ...gauge("joypod_operator_network_policies_enforced", 0, 1) },
  {
    alert: "JoypodNoGameNodes",
    fires: { ...operatorLeads, 'joypod_game_node_schedulable{namespace="joypod",node="n1"}': `0${always}` },
    isQuiet: { ...operatorLeads, 'joypod_game_node_schedulable{namespace="joypod",node="n1"}': `0${always}`, 'joypod_game_node_schedulable{namespace="joypod",node="n2"}': `1${always}` },
  },
  { alert: "JoypodNoFreeSlots", fires: slots(0, 1), isQuiet: slots(1, 1) },
  { alert: "JoypodNodeSilent", ...gauge("joypod_game_node_silent", 1, 0, 'node="n1"') },
  { alert: "JoypodNodeLossBrake", ...gauge("joypod_operator_node_loss_brake", 1, 0) },
  {
    alert: "JoypodNodeNotReady",
    fires: { 'joypod_game_node_schedulable{namespace="joypod",node="n1"}': `0${always}`, ...condition("Draining", 0).fires },
    isQuiet: { 'joypod_game_node_schedulable{namespace="joypod",node="n1"}': `0${always}`, ...condition("Draining", 1).fires },
  },
  { alert: "JoypodCacheFull", ...condition("DiskPressure", 1) },
  { alert: "JoypodNodeStoreUnreachable", ...condition("StoreReachable", 0) },
  { alert: "JoypodSessionsSetAside", ...condition("SessionsSetAside", 1) },
  { alert: "JoypodDownloadsFailing", ...rate("joypod_node_downloads_total", 'node="n1",outcome="failed",reason="StoreUnreachable"', 0.2, 0.05) },
  { alert: "JoypodLaunchesFailing", fires: { ...failures(1), ...starts(2) }, isQuiet: { ...failures(1), ...starts(9) } },
  { alert: "JoypodLaunchesSlow", fires: starts(1, "60"), isQuiet: starts(1, "30") },
  { alert: "JoypodUnsavedEnds", ...counted("joypod_sessions_finished_total", 'reason="SaveNotStored"') },
  { alert: "JoypodSavesWaiting", ...gauge("joypod_saves_waiting_oldest_seconds", 901, 899, 'node="n1"') },
  { alert: "JoypodSavesFailing", ...counted("joypod_node_saves_total", 'node="n1",outcome="failed"') },
  { alert: "JoypodSavesUnreadable", ...gauge("joypod_saves_unreadable", 1, 0) },
  { alert: "JoypodUploadsFailing", ...counted("joypod_uploads_total", 'kind="game",outcome="failed"', 3) },
  { alert: "JoypodStreamFramesLow", ...gauge("joypod_stream_frames_per_second", 19, 30, 'node="n1",statistic="mean"') },
  { alert: "JoypodStreamersUnanswered", ...gauge("joypod_streamers_unanswered", 1, 0, 'node="n1"') },
  { alert: "JoypodSoftwareRendering", ...counted("joypod_sessions_unaccelerated_total", 'reason="NoRenderNode"') },
  {
    alert: "JoypodRelayDown",
    fires: { 'joypod_relays{namespace="joypod",state="told"}': `1${always}`, 'joypod_relays{namespace="joypod",state="untold"}': `1${always}` },
    isQuiet: { 'joypod_relays{namespace="joypod",state="told"}': `1${always}`, 'joypod_relays{namespace="joypod",state="untold"}': `0${always}` },
  },
  { alert: "JoypodRelayFull", ...rate("joypod_turn_allocations_refused_total", 'pod="a"', 1, 0) },
  { alert: "JoypodRelayCertificateExpiring", ...gauge("joypod_turn_certificate_expiry_timestamp_seconds", 14 * 86_400, 16 * 86_400), atMinutes: 90 },
];

function rate(name: string, labels: string, firing: number, quiet: number): Pick<AlertCase, "fires" | "isQuiet"> {
  const series = `${name}{namespace="joypod",${labels}}`;
  return { fires: { [series]: `0+${firing}${always}` }, isQuiet: { [series]: `0+${quiet}${always}` } };
}
