{{/* The configuration, with the namespace of the release where a Kubernetes workload names none. */}}
{{- define "ostler.config" -}}
{{- $config := fromYaml .Values.config -}}
{{- if hasKey $config "Error" }}{{ fail (printf "config is no YAML: %s" (get $config "Error")) }}{{ end -}}
{{- range $name, $workload := required "config names no workloads" $config.workloads }}
{{- if and (eq $workload.kind "kubernetes") (not (hasKey $workload "namespace")) }}
{{- $_ := set $workload "namespace" $.Release.Namespace }}
{{- end }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{/* Names of the Leases that it asks for, as a list in JSON. */}}
{{- define "ostler.leases" -}}
{{- $names := list -}}
{{- range (fromYaml (include "ostler.config" .)).workloads -}}
{{- if hasKey . "lease" }}{{ $names = append $names (dig "lease" "name" "ostler" .) }}{{ end -}}
{{- end -}}
{{- $names | uniq | sortAlpha | toJson -}}
{{- end }}

{{- define "ostler.selector" -}}
{app.kubernetes.io/name: ostler, app.kubernetes.io/instance: {{ .Release.Name }}}
{{- end }}
