{{- define "hunkwatch.environment" -}}
- name: LANGFUSE_BASE_URL
  value: {{ .Values.langfuse.baseUrl | quote }}
{{- if not .Values.projects }}
- name: LANGFUSE_PUBLIC_KEY_FILE
  value: /run/secrets/hunkwatch/keys/public-key
- name: LANGFUSE_SECRET_KEY_FILE
  value: /run/secrets/hunkwatch/keys/secret-key
{{- end }}
{{- if include "hunkwatch.onPostgres" . }}
- name: HUNKWATCH_STORE__URL_FILE
  value: /run/secrets/hunkwatch/postgres/url
{{- end }}
- name: HUNKWATCH_HTTP__HOST
  value: {{ .Values.http.host | quote }}
- name: HUNKWATCH_HTTP__PORT
  value: {{ .Values.http.port | quote }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "hunkwatch.mounts" -}}
- name: settings
  mountPath: /etc/hunkwatch
  readOnly: true
- name: keys
  mountPath: /run/secrets/hunkwatch/keys
  readOnly: true
{{- if include "hunkwatch.onPostgres" . }}
- name: postgres
  mountPath: /run/secrets/hunkwatch/postgres
  readOnly: true
{{- end }}
- name: tmp
  mountPath: /tmp
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "hunkwatch.volumes" -}}
- name: settings
  configMap:
    name: {{ include "hunkwatch.fullname" . }}
- name: keys
{{- if .Values.projects }}
  projected:
    defaultMode: 0440
    sources:
      {{- range .Values.projects }}
      - secret:
          name: {{ .existingSecret }}
          items:
            - key: {{ default $.Values.langfuse.publicKeyEntry .publicKeyEntry }}
              path: {{ .name }}/public-key
            - key: {{ default $.Values.langfuse.secretKeyEntry .secretKeyEntry }}
              path: {{ .name }}/secret-key
      {{- end }}
{{- else }}
  secret:
    secretName: {{ default (include "hunkwatch.fullname" .) .Values.langfuse.existingSecret }}
    defaultMode: 0440
    items:
      - key: {{ ternary .Values.langfuse.publicKeyEntry "public-key" (ne .Values.langfuse.existingSecret "") }}
        path: public-key
      - key: {{ ternary .Values.langfuse.secretKeyEntry "secret-key" (ne .Values.langfuse.existingSecret "") }}
        path: secret-key
{{- end }}
{{- if include "hunkwatch.onPostgres" . }}
- name: postgres
  secret:
    secretName: {{ default (printf "%s-postgres" (include "hunkwatch.fullname" .)) .Values.postgres.existingSecret }}
    defaultMode: 0440
    items:
      - key: {{ ternary .Values.postgres.urlEntry "url" (ne .Values.postgres.existingSecret "") }}
        path: url
{{- end }}
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* What a pod of the worker and the pod of the test share. */ -}}
{{- define "hunkwatch.placement" -}}
serviceAccountName: {{ include "hunkwatch.account" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "hunkwatch.pod" -}}
metadata:
  labels:
    {{- include "hunkwatch.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/settings: {{ list .Values.settings .Values.projects | toJson | sha256sum }}
    checksum/keys: {{ printf "%s %s %s" .Values.langfuse.publicKey .Values.langfuse.secretKey .Values.postgres.url | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "hunkwatch.placement" . | nindent 2 }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  containers:
    - name: hunkwatch
      image: {{ include "hunkwatch.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [run, --config, /etc/hunkwatch/config.toml]
      env:
        {{- include "hunkwatch.environment" . | nindent 8 }}
      ports:
        - name: http
          containerPort: {{ .Values.http.port }}
      livenessProbe:
        httpGet:
          path: /livez
          port: http
        periodSeconds: 30
        timeoutSeconds: 5
        failureThreshold: 3
      readinessProbe:
        httpGet:
          path: /readyz
          port: http
        periodSeconds: 10
        timeoutSeconds: 5
      startupProbe:
        httpGet:
          path: /livez
          port: http
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 60
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      volumeMounts:
        {{- include "hunkwatch.mounts" . | nindent 8 }}
        - name: data
          mountPath: /data
  volumes:
    {{- include "hunkwatch.volumes" . | nindent 4 }}
    {{- if include "hunkwatch.onPostgres" . }}
    - name: data
      emptyDir:
        sizeLimit: 64Mi
    {{- else if not .Values.persistence.enabled }}
    - name: data
      emptyDir: {}
    {{- else if .Values.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim:
        claimName: {{ .Values.persistence.existingClaim }}
    {{- end }}
{{- end }}
