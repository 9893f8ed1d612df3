{{- $all := slice -}}
{{- range site.RegularPages | append site.Home -}}
{{- $title := partial "title.html" . -}}
{{- $all = $all | append (dict "title" (htmlUnescape $title) "url" (strings.TrimPrefix "/" .RelPermalink) "text" (.Plain | htmlUnescape)) -}}
{{- end -}}
const searchIndex = {{ $all | jsonify }};
