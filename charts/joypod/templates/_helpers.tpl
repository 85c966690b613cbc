{{- define "joypod.labels" -}}
app.kubernetes.io/name: joypod
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/part-of: joypod
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
Labels of an object that somebody selects by labels of `values`: those, and below them the ones of all objects. Each key stands once, as tools that
patch what Helm has rendered refuse a second one.
*/}}
{{- define "joypod.selectedLabels" -}}
{{- toYaml (merge (dict) (.values | default dict) (include "joypod.labels" . | fromYaml)) }}
{{- end }}

{{/* Labels of a workload's pods. `values` adds labels, but cannot change those that services, budgets and policies select by. */}}
{{- define "joypod.podLabels" -}}
{{- toYaml (merge (include "joypod.labels" . | fromYaml) ((.values | default dict).podLabels | default dict)) }}
{{- end }}

{{/* Annotations of a workload's pods: Joypod's `own`, overridden by those of its `values`. */}}
{{- define "joypod.podAnnotations" -}}
{{- with merge (dict) ((.values | default dict).podAnnotations | default dict) (.own | default dict) }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Annotations of an object, if its values have any. */}}
{{- define "joypod.annotations" -}}
{{- with (. | default dict).annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Priority class of a workload's pods. */}}
{{- define "joypod.priority" -}}
{{- with (. | default dict).priorityClassName }}
priorityClassName: {{ quote . }}
{{- end }}
{{- end }}

{{/*
Where a workload's pods run, by its `values`; before their tolerations those of Joypod's own. `spread`: the component whose pods are spread over
the nodes unless the values say otherwise.
*/}}
{{- define "joypod.placement" -}}
{{- $values := .values | default dict }}
{{- with $values.runtimeClassName }}
runtimeClassName: {{ quote . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with concat (.tolerations | default list) ($values.tolerations | default list) }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if kindIs "slice" $values.topologySpreadConstraints }}
{{- with $values.topologySpreadConstraints }}
topologySpreadConstraints: {{- toYaml . | nindent 2 }}
{{- end }}
{{- else if .spread }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "joypod.selector" .spread | nindent 8 }}
{{- end }}
{{- end }}

{{/* Class and source ranges of a Service of type LoadBalancer. */}}
{{- define "joypod.loadBalancer" -}}
{{- with .loadBalancerClass }}
loadBalancerClass: {{ quote . }}
{{- end }}
{{- with .loadBalancerSourceRanges }}
loadBalancerSourceRanges: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Milliseconds of a Gateway API duration. */}}
{{- define "joypod.milliseconds" -}}
{{- $milliseconds := 0 }}
{{- range regexFindAll "[0-9]+(h|ms|m|s)" . -1 }}
{{- $milliseconds = add $milliseconds (mul (regexFind "[0-9]+" . | int64) (get (dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000) (regexFind "[a-z]+" .))) }}
{{- end }}
{{- $milliseconds }}
{{- end }}

{{/*
Extra volumes and mounts from the values of a workload. A workload without volumes uses these variants, which include the field name:
`joypod.onlyExtraVolumes` and `joypod.onlyExtraVolumeMounts`.
*/}}
{{- define "joypod.extraVolumes" -}}
{{- with (. | default dict).extraVolumes }}
{{- toYaml . }}
{{- end }}
{{- end }}
{{- define "joypod.extraVolumeMounts" -}}
{{- with (. | default dict).extraVolumeMounts }}
{{- toYaml . }}
{{- end }}
{{- end }}
{{- define "joypod.onlyExtraVolumes" -}}
{{- with include "joypod.extraVolumes" . -}}
volumes: {{- . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "joypod.onlyExtraVolumeMounts" -}}
{{- with include "joypod.extraVolumeMounts" . -}}
volumeMounts: {{- . | nindent 2 }}
{{- end }}
{{- end }}

{{/* volumeMounts and volumes of `stores` (see joypod.storeMounts) and of a workload's `values`; nothing if there are none. */}}
{{- define "joypod.storeAndExtraVolumeMounts" -}}
{{- with list (include "joypod.storeMounts" .stores | trim) (include "joypod.extraVolumeMounts" .values) | join "\n" | trim -}}
volumeMounts: {{- . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "joypod.storeAndExtraVolumes" -}}
{{- with list (include "joypod.storeVolumes" .stores | trim) (include "joypod.extraVolumes" .values) | join "\n" | trim -}}
volumes: {{- . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Resources from a workload's `values`, otherwise its `own`. */}}
{{- define "joypod.resources" -}}
{{- toYaml ((.values | default dict).resources | default .own) }}
{{- end }}

{{/*
gameNodes.selector as requirements of a node affinity. The operator reads the same text (packages/kube/src/api/labelSelector.ts), and both refuse what the
other does.
*/}}
{{- define "joypod.gameNodeRequirements" -}}
{{- $text := .Values.gameNodes.selector }}
{{- $key := "([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?" }}
{{- $value := "([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?" }}
{{- $set := printf "^(%s)\\s+(in|notin)\\s*\\(\\s*(%s(\\s*,\\s*%s)*)\\s*\\)$" $key $value $value }}
{{- $equality := printf "^(%s)\\s*(==?|!=)\\s*(%s)$" $key $value }}
{{- /* A key has five inner groups, so the operator is the seventh group and the rest the eighth. */}}
{{- $terms := regexFindAll "[^,(]*(\\([^)]*\\)[^,]*)?(,|$)" $text -1 }}
{{- if or (ne (join "" $terms) $text) (hasSuffix "," (trim $text)) }}
{{- $terms = list (printf "%s," $text) }}
{{- end }}
{{- range $terms }}
{{- $term := trimSuffix "," . | trim }}
{{- if and (regexMatch $set $term) (not (regexMatch "\\(\\s*\\)$" $term)) }}
{{- $values := list }}
{{- range splitList "," (regexReplaceAll $set $term "${8}") }}
{{- $values = append $values (trim .) }}
{{- end }}
- {{ dict "key" (regexReplaceAll $set $term "${1}") "operator" (ternary "In" "NotIn" (eq "in" (regexReplaceAll $set $term "${7}"))) "values" $values | toJson }}
{{- else if regexMatch $equality $term }}
- {{ dict "key" (regexReplaceAll $equality $term "${1}") "operator" (ternary "NotIn" "In" (eq "!=" (regexReplaceAll $equality $term "${7}"))) "values" (list (regexReplaceAll $equality $term "${8}")) | toJson }}
{{- else if regexMatch (printf "^!?\\s*%s$" $key) $term }}
- {{ dict "key" (trimPrefix "!" $term | trim) "operator" (ternary "DoesNotExist" "Exists" (hasPrefix "!" $term)) | toJson }}
{{- else }}
{{- fail (printf "gameNodes.selector: %q is not a label requirement: write key, !key, key=value, key!=value, key in (a,b) or key notin (a,b), separated by commas." $term) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "joypod.selector" -}}
app.kubernetes.io/name: joypod
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "joypod.name" -}}
{{ .root.Release.Name }}-{{ .component }}
{{- end }}

{{/*
A `name` of at most `max` letters. A longer one, as of a release of a long name, is cut, and ends with a hash of the whole, so that no two are the same.
Services are hosts, of 63 letters at most; so are the labels that Kubernetes makes of the name of a Job, and of a StatefulSet with eleven letters more.
*/}}
{{- define "joypod.shortName" -}}
{{- if le (len .name) (int .max) -}}
{{ .name }}
{{- else -}}
{{ regexReplaceAll "[-.]+$" (trunc (sub .max 9 | int) .name) "" }}-{{ .name | sha256sum | trunc 8 }}
{{- end }}
{{- end }}

{{/* Names of the longest Services, and of the StatefulSet of a component. */}}
{{- define "joypod.connectionTestService" -}}{{ include "joypod.shortName" (dict "max" 63 "name" (printf "%s-connection-test" .Release.Name)) }}{{- end }}
{{- define "joypod.relayControlService" -}}{{ include "joypod.shortName" (dict "max" 63 "name" (printf "%s-turn-control" .Release.Name)) }}{{- end }}
{{- define "joypod.statefulSetName" -}}{{ include "joypod.shortName" (dict "max" 52 "name" (include "joypod.name" .)) }}{{- end }}

{{/* The release's pods of some components, as a NetworkPolicy peer. */}}
{{- define "joypod.peers" -}}
podSelector:
  matchExpressions:
    - { key: app.kubernetes.io/instance, operator: In, values: [{{ .root.Release.Name }}] }
    - { key: app.kubernetes.io/component, operator: In, values: [{{ join ", " .components }}] }
{{- end }}

{{/* Names of the secrets: from the values, otherwise the release's. */}}
{{- define "joypod.apiSecret" -}}{{ .Values.api.existingSecret | default (printf "%s-api" .Release.Name) }}{{- end }}
{{- define "joypod.operatorSecret" -}}{{ .Values.operator.existingSecret | default (printf "%s-operator" .Release.Name) }}{{- end }}
{{- define "joypod.connectionTestSecret" -}}{{ .Values.connectionTest.existingSecret | default (printf "%s-connection-test" .Release.Name) }}{{- end }}
{{- define "joypod.postgresSecret" -}}{{ .Values.postgres.existingSecret | default (printf "%s-postgres" .Release.Name) }}{{- end }}
{{- define "joypod.redisSecret" -}}{{ .Values.redis.existingSecret | default (printf "%s-redis" .Release.Name) }}{{- end }}
{{- define "joypod.s3Secret" -}}{{ .Values.s3.existingSecret | default (printf "%s-s3" .Release.Name) }}{{- end }}

{{/* Secrets with the programs' object store keys. The bundled MinIO's administrator uses joypod.s3Secret. */}}
{{- define "joypod.apiStoreSecret" -}}{{ ternary (printf "%s-api-store" .Release.Name) .Values.s3.existingSecret .Values.stores.bundled }}{{- end }}
{{- define "joypod.nodeAgentStoreSource" -}}{{ ternary (printf "%s-node-agent-store" .Release.Name) ((.Values.s3.nodeAgent | default dict).existingSecret | default .Values.s3.existingSecret) .Values.stores.bundled }}{{- end }}

{{/* Namespace of the node agents, and the secret there with their object store key. */}}
{{- define "joypod.nodeAgentNamespace" -}}{{ .Values.nodeAgent.namespace | default .Release.Namespace }}{{- end }}
{{- define "joypod.nodeAgentStoreSecret" -}}{{ .Release.Name }}-node-agent-store{{- end }}

{{/* The secret there with the public key of the API's tickets, for responders. */}}
{{- define "joypod.connectionTestKeySecret" -}}{{ .Release.Name }}-connection-test-key{{- end }}

{{/* Hook annotations of what runs first in an installation or upgrade and is removed afterwards, with its weight. */}}
{{- define "joypod.hookBeforeAll" -}}
{{- if include "joypod.helmHooks" .root }}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- else }}
{}
{{- end }}
{{- end }}

{{/* "yes" if Helm hooks are used; also with values of an earlier release. */}}
{{- define "joypod.helmHooks" -}}{{- if ne (toString .Values.helmHooks) "false" }}yes{{ end }}{{- end }}

{{/* The name of a Job. Jobs are immutable, so other values or another chart need another name. */}}
{{- define "joypod.jobName" -}}
{{- $root := .root -}}
{{ include "joypod.jobPrefix" . }}-{{ printf "%s %s %s" $root.Chart.Version $root.Chart.AppVersion (toJson $root.Values) | sha256sum | trunc 8 }}
{{- end }}

{{/* Prefix of a Job's name, before a dash and a hash of eight letters. */}}
{{- define "joypod.jobPrefix" -}}{{ include "joypod.shortName" (dict "max" 54 "name" (include "joypod.name" .)) }}{{- end }}

{{- define "joypod.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10000
runAsGroup: 10000
fsGroup: 10000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* The same for a bundled store: the volume's group is changed once, not on each start. */}}
{{- define "joypod.storeSecurity" -}}
{{- include "joypod.podSecurity" . }}
fsGroupChangePolicy: OnRootMismatch
{{- end }}

{{- define "joypod.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Environment from the secret of that name; with web identity there is no access key. */}}
{{- define "joypod.s3Env" -}}
{{- $keys := dict "S3_ENDPOINT" "endpoint" "S3_REGION" "region" "S3_BUCKET" "bucket" }}
{{- if not (include "joypod.hasWebIdentity" .root) }}{{ $keys = merge $keys (dict "S3_ACCESS_KEY" "accessKey" "S3_SECRET_KEY" "secretKey") }}{{ end }}
{{- range $name, $key := $keys }}
- name: {{ $.prefix }}{{ $name }}
  valueFrom: { secretKeyRef: { name: {{ $.secret | quote }}, key: {{ $key }} } }
{{- end }}
{{- end }}

{{/* "yes" if temporary keys replace access keys; empty otherwise, also with values of an earlier release. */}}
{{- define "joypod.hasWebIdentity" -}}{{- if (.Values.s3.webIdentity | default dict).enabled }}yes{{ end }}{{- end }}

{{/* Environment of a program's web identity with that role, and of the object store's CA. */}}
{{- define "joypod.s3TrustEnv" -}}
{{- with .root.Values.s3.caSecret }}
- { name: S3_CA_FILE, value: /etc/joypod/stores/s3/ca.crt }
{{- end }}
{{- if include "joypod.hasWebIdentity" .root }}
{{- $identity := .root.Values.s3.webIdentity }}
{{- if $identity.audience }}
- { name: AWS_WEB_IDENTITY_TOKEN_FILE, value: /var/run/secrets/joypod/s3/token }
{{- end }}
{{- with .role }}
- { name: AWS_ROLE_ARN, value: {{ . | quote }} }
{{- end }}
{{- with $identity.stsEndpoint }}
- { name: AWS_ENDPOINT_URL_STS, value: {{ . | quote }} }
{{- end }}
{{- end }}
{{- end }}

{{/* Mounts of store CAs, by store name and secret, and of the web identity's token. */}}
{{- define "joypod.storeMounts" -}}
{{- range $store, $secret := .authorities }}
{{- if $secret }}
- { name: {{ $store }}-ca, mountPath: /etc/joypod/stores/{{ $store }}, readOnly: true }
{{- end }}
{{- end }}
{{- if .hasToken }}
- { name: s3-token, mountPath: /var/run/secrets/joypod/s3, readOnly: true }
{{- end }}
{{- end }}

{{/* The volumes of these mounts. 288 is 0440: only the container's group can read them. */}}
{{- define "joypod.storeVolumes" -}}
{{- range $store, $secret := .authorities }}
{{- if $secret }}
- { name: {{ $store }}-ca, secret: { secretName: {{ $secret }}, items: [{ key: ca.crt, path: ca.crt }], defaultMode: 288 } }
{{- end }}
{{- end }}
{{- if .hasToken }}
- { name: s3-token, projected: { sources: [{ serviceAccountToken: { path: token, expirationSeconds: 3600, audience: {{ .root.Values.s3.webIdentity.audience | quote }} } }] } }
{{- end }}
{{- end }}

{{/* "yes" if the chart mounts a service account token for the object store; otherwise the cluster may inject one. */}}
{{- define "joypod.hasStoreToken" -}}{{- if and (include "joypod.hasWebIdentity" .) .Values.s3.webIdentity.audience }}yes{{ end }}{{- end }}

{{/* How sessions get GPUs, as the operator's environment. Values missing after --reuse-values have their defaults. */}}
{{- define "joypod.gpuEnv" -}}
{{- $gpu := .Values.gpu }}
- { name: GPU_RESOURCE_NAME, value: {{ $gpu.resourceName | quote }} }
- { name: GPU_GAME_RESOURCE_NAME, value: {{ dig "game" "resourceName" "" $gpu | quote }} }
- { name: GPU_GAME_COUNT, value: {{ dig "game" "count" 1 $gpu | int | quote }} }
- { name: GPU_STREAMER_RESOURCE_NAME, value: {{ dig "streamer" "resourceName" "" $gpu | quote }} }
- { name: GPU_STREAMER_COUNT, value: {{ dig "streamer" "count" 0 $gpu | int | quote }} }
- { name: GPU_CLAIM_TEMPLATE, value: {{ dig "claim" "" $gpu | quote }} }
- { name: GPU_SLOTS_PER_NODE, value: {{ dig "slotsPerNode" 0 $gpu | int | quote }} }
- { name: GPU_RUNTIME_CLASS, value: {{ dig "runtimeClassName" "" $gpu | quote }} }
- { name: GPU_DRIVER_CAPABILITIES, value: {{ dig "driverCapabilities" "graphics,video,compute,utility,display" $gpu | quote }} }
- { name: GPU_GROUPS, value: {{ $groups := list }}{{ range dig "groups" list $gpu }}{{ $groups = append $groups (int64 . | toString) }}{{ end }}{{ join "," $groups | quote }} }
- { name: GPU_TOLERATIONS, value: {{ concat (dig "tolerations" list $gpu) (dig "pods" "tolerations" list .Values.sessions) | default list | toJson | quote }} }
{{- end }}

{{/* Gpu if a container of a session takes a device, otherwise Software. */}}
{{- define "joypod.streamProfile" -}}
{{- $gpu := .Values.gpu }}
{{- if or $gpu.resourceName (dig "claim" "" $gpu) (dig "game" "resourceName" "" $gpu) (dig "streamer" "resourceName" "" $gpu) }}Gpu{{ else }}Software{{ end }}
{{- end }}

{{/* Settings of session pods, as the operator's environment. Anything without a value is left to operator.env. */}}
{{- define "joypod.sessionPodEnv" -}}
- { name: SESSIONS_NAMESPACE, value: {{ .Values.sessions.namespace | quote }} }
- { name: INSTALLATION, value: {{ .Values.installation | default "" | quote }} }
{{ include "joypod.gpuEnv" . }}
- { name: DISPLAY_SERVER, value: {{ .Values.gpu.display }} }
- { name: STREAMER_IMAGE, value: {{ .Values.images.streamer | quote }} }
- { name: GAME_IMAGE, value: {{ .Values.images.game | quote }} }
- { name: IMAGE_PULL_POLICY, value: {{ .Values.imagePullPolicy }} }
- { name: IMAGE_PULL_SECRETS, value: {{ include "joypod.pullSecretNames" . | quote }} }
{{- $pods := .Values.sessions.pods | default dict }}
{{- range $name, $value := dict "SESSION_POD_LABELS" $pods.labels "SESSION_POD_ANNOTATIONS" $pods.annotations "SESSION_POD_NODE_SELECTOR" $pods.nodeSelector }}
{{- with $value }}
- { name: {{ $name }}, value: {{ toJson . | quote }} }
{{- end }}
{{- end }}
{{- range $name, $value := dict "SESSION_POD_PRIORITY_CLASS" $pods.priorityClassName "SESSION_RUNTIME_CLASS" $pods.runtimeClassName }}
{{- with $value }}
- { name: {{ $name }}, value: {{ quote . }} }
{{- end }}
{{- end }}
{{- end }}

{{/* "yes" if the operator counts what pods of other namespaces request; never if sessions have a priority class. */}}
{{- define "joypod.countsOtherPods" -}}
{{- $class := (.Values.sessions.pods | default dict).priorityClassName | default (.Values.operator.env | default dict).SESSION_POD_PRIORITY_CLASS | default "" | toString | trim }}
{{- if and .Values.gameNodes.countOtherPods (not $class) }}yes{{ end }}
{{- end }}

{{- define "joypod.databaseEnv" -}}
- name: DATABASE_URL
  valueFrom: { secretKeyRef: { name: {{ include "joypod.postgresSecret" . | quote }}, key: url } }
{{- if .Values.postgres.caSecret }}
- { name: DATABASE_CA_FILE, value: /etc/joypod/stores/postgres/ca.crt }
{{- end }}
{{- end }}

{{- define "joypod.extraEnv" -}}
{{- range $name, $value := . }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{- define "joypod.imagePullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Names of the pull secrets, separated by commas. */}}
{{- define "joypod.pullSecretNames" -}}
{{- $names := list }}{{ range .Values.imagePullSecrets }}{{ $names = append $names .name }}{{ end }}{{ join "," (uniq $names) }}
{{- end }}

{{/* Namespaces of our pods other than the release's, separated by commas. */}}
{{- define "joypod.pullSecretNamespaces" -}}
{{- $namespaces := list .Values.sessions.namespace (include "joypod.nodeAgentNamespace" .) }}
{{- if include "joypod.hasRelay" . }}{{ $namespaces = append $namespaces .Values.turn.namespace }}{{ end }}
{{- join "," (without (uniq $namespaces) .Release.Namespace) }}
{{- end }}

{{/* Replaces a pod on a silent node after 30 seconds; Kubernetes' default of five minutes leaves one replica for too long. */}}
{{- define "joypod.leaveSilentNodes" -}}
- { key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 30 }
- { key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 30 }
{{- end }}

{{/* Priority and placement of a bundled `store`: its values, otherwise those of all stores. */}}
{{- define "joypod.storePlacement" -}}
{{- $stores := .root.Values.stores }}
{{- $values := index $stores .store | default dict }}
{{- $affinity := $values.affinity | default $stores.affinity }}
{{- $tolerations := $values.tolerations | default $stores.tolerations }}
{{- include "joypod.priority" $values }}
{{- include "joypod.placement" (dict "values" (merge (dict "affinity" $affinity "tolerations" $tolerations) $values)) }}
{{- end }}

{{- define "joypod.probes" -}}
livenessProbe:
  httpGet: { path: /healthz, port: {{ .port }} }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: {{ .port }} }
  periodSeconds: 2
  timeoutSeconds: 5
startupProbe:
  httpGet: { path: /healthz, port: {{ .port }} }
  periodSeconds: 1
  failureThreshold: 60
{{- end }}

{{/* The binding of the admission policy of the same name: it denies what the policy refuses. */}}
{{- define "joypod.denyBinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels: {{- include "joypod.labels" (dict "root" .root "component" "admission") | nindent 4 }}
spec:
  policyName: {{ .name }}
  validationActions: [Deny]
{{- end }}

{{/* "yes" if the chart runs the relay; empty otherwise, also with values of an earlier release. */}}
{{- define "joypod.hasRelay" -}}{{- if (.Values.turn | default dict).enabled }}yes{{ end }}{{- end }}

{{/* The secret in the release's namespace that signs relay credentials; empty without a relay. */}}
{{- define "joypod.turnSecret" -}}
{{- $turn := .Values.turn | default dict }}
{{- if $turn.enabled }}{{ $turn.existingSecret | default (printf "%s-turn" .Release.Name) }}{{ else }}{{ ($turn.external | default dict).existingSecret | default "" }}{{ end }}
{{- end }}

{{/* UDP ports of game nodes that the relay may send to, as ranges. */}}
{{- define "joypod.relayedPorts" -}}
{{ .Values.media.portFirst }}-{{ .Values.media.portLast }}{{ with .Values.media.connectionTestPort }},{{ . }}{{ end }}
{{- end }}

{{/* URLs of the chart's relay for browsers. */}}
{{- define "joypod.turnUrls" -}}
{{- $host := .Values.turn.host }}
{{- $urls := list (printf "turn:%s:3478?transport=udp" $host) (printf "turn:%s:3478?transport=tcp" $host) }}
{{- if .Values.turn.tls.existingSecret }}{{ $urls = append $urls (printf "turns:%s:443?transport=tcp" $host) }}{{ end }}
{{- join "," $urls }}
{{- end }}
