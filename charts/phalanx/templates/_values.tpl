{{- /* What needs more than a path in the values. `kube/installation/fields.py` gives the same for `phalanx install`. */}}

{{- define "phalanx.image" -}}
{{- $tag := .Values.image.tag | default (ternary "" .Chart.AppVersion (ne .Values.image.digest "")) -}}
{{- .Values.image.repository }}{{ with $tag }}:{{ . }}{{ end }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "phalanx.policy" -}}
{{- if kindIs "string" .Values.policy -}}
{{- if regexMatch "(?m)^schedulerNames:" .Values.policy }}{{ include "phalanx.namesApart" . }}{{ end -}}
schedulerNames: {{ toJson .Values.schedulerNames }}
{{ .Values.policy }}
{{- else -}}
{{- if hasKey .Values.policy "schedulerNames" }}{{ include "phalanx.namesApart" . }}{{ end -}}
schedulerNames: {{ toJson .Values.schedulerNames }}
{{ toYaml .Values.policy }}
{{ end -}}
{{- end }}

{{- define "phalanx.namesApart" -}}
{{- fail "policy: found schedulerNames, which is a value of its own beside policy" }}
{{- end }}

{{- define "phalanx.extraRules" -}}
{{- range .Values.rbac.extraRules }}{{ with . }}{{ toYaml . }}{{ "\n" }}{{ end }}{{ end -}}
{{- end }}
