{{- /* fettle.image is a list of an image's values and the chart. */ -}}
{{- define "fettle.image" -}}
{{- $image := index . 0 -}}
{{- $chart := index . 1 -}}
{{- if $image.digest -}}
{{ printf "%s@%s" $image.repository $image.digest | quote }}
{{- else -}}
{{ printf "%s:%s" $image.repository (default $chart.AppVersion $image.tag) | quote }}
{{- end -}}
{{- end -}}
