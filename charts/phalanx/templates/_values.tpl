{{- /* What needs more than a path in the values. `kube/installation/fields.py` gives the same for `phalanx install`. */}}

{{- define "phalanx.image" -}}
{{- $tag := .Values.image.tag | default (ternary "" .Chart.AppVersion (ne .Values.image.digest "")) -}}
{{- .Values.image.repository }}{{ with $tag }}:{{ . }}{{ end }}{{ with .Values.image.digest }}@{{ . }}{{ end }}
{{- end }}

{{- define "phalanx.policy" -}}
{{- $policy := .Values.policy | default (dict "extends" "default") -}}
{{- $text := kindIs "string" $policy | ternary (toString $policy) (toYaml $policy) -}}
{{- if regexMatch "(?m)^schedulerNames:" $text -}}
{{- fail "policy: found schedulerNames, which is a value of its own beside policy" -}}
{{- end -}}
schedulerNames: {{ toJson .Values.schedulerNames }}
{{ $text }}
{{- end }}

{{- define "phalanx.extraRules" -}}
{{- range .Values.rbac.extraRules }}{{ with . }}{{ toYaml . }}{{ "\n" }}{{ end }}{{ end -}}
{{- end }}
