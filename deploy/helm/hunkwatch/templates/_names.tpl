{{- define "hunkwatch.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "hunkwatch.fullname" -}}
{{- $name := include "hunkwatch.name" . }}
{{- $whole := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- default $whole .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "hunkwatch.selector" -}}
app.kubernetes.io/name: {{ include "hunkwatch.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "hunkwatch.labels" -}}
{{ include "hunkwatch.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "hunkwatch.account" -}}
{{- default (ternary (include "hunkwatch.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{- define "hunkwatch.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag }}
{{- printf "%s%s%s" .Values.image.repository (ternary "@" ":" (hasPrefix "sha256:" $tag)) $tag }}
{{- end }}

{{- /* "yes" when the state lives in Postgres. */ -}}
{{- define "hunkwatch.onPostgres" -}}
{{- if or .Values.postgres.existingSecret .Values.postgres.url }}yes{{ end }}
{{- end }}

{{- /* The addresses of the servers as a JSON array, each once. */ -}}
{{- define "hunkwatch.servers" -}}
{{- $servers := list }}
{{- range .Values.projects }}
{{- $servers = append $servers (default $.Values.langfuse.baseUrl .baseUrl) }}
{{- end }}
{{- default (list .Values.langfuse.baseUrl) $servers | uniq | toJson }}
{{- end }}

{{- /* The port of an address, as a client would choose it. */ -}}
{{- define "hunkwatch.portOf" -}}
{{- $address := urlParse . }}
{{- $port := regexFind ":[0-9]+$" $address.host | trimPrefix ":" }}
{{- default (ternary "80" "443" (eq $address.scheme "http")) $port }}
{{- end }}
