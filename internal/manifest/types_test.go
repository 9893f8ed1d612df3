package manifest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/manifest"
	"github.com/fettle-dev/fettle/internal/state"
)

const zones = `apiVersion: fettle.dev/v1alpha1
kind: ExternalType
metadata: {name: dnszones}
spec:
  kind: DNSZone
  version: 1.0.0
  description: Manages zones.
  attributes:
  - {name: zone, description: The zone., behaviour: Namevar, schema: {type: string}}
  - {name: serial, description: The serial., schema: {type: integer, minimum: 1}}
  - {name: contact, description: The contact., default: "'hostmaster.' + self.zone", schema: {type: string}}
  - {name: token, description: A key., sensitive: true, schema: {type: string, maxLength: 3}}
  providers: [{name: plain, command: ["true"]}]
  source: {hostPath: /opt/zone}
`

const zone = `---
apiVersion: types.fettle.dev/v1alpha1
kind: DNSZone
metadata: {name: example.org}
spec:
  nodeSelector: {}
  properties: {serial: 7}
`

// properties returns the properties of the only document.
func properties(t *testing.T, s *manifest.Set) string {
	t.Helper()
	if len(s.Faults) > 0 || len(s.Documents) != 1 {
		t.Fatalf("%d documents, faults: %v", len(s.Documents), s.Faults)
	}
	r, ok := s.Documents[0].Resource.(*v1alpha1.External)
	if !ok {
		t.Fatalf("%T", s.Documents[0].Resource)
	}
	return string(r.Spec.Properties.Raw)
}

func TestExternalResourcesGetTheirDefaults(t *testing.T) {
	t.Parallel()

	want := `{"contact":"hostmaster.example.org","serial":7}`
	for name, text := range map[string]string{
		"type first":    zones + zone,
		"type last":     zone + "---\n" + zones,
		"type twice":    zones + "---\n" + zones + zone,
		"with null":     zones + strings.Replace(zone, "serial: 7", "serial: 7, contact: null", 1),
		"with a CRD":    zones + "---\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: dnszones.types.fettle.dev}}\n" + zone,
		"in a List":     "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(zones), "\n", "\n  ") + "\n- " + strings.ReplaceAll(strings.TrimSpace(strings.TrimPrefix(zone, "---\n")), "\n", "\n  "),
		"with a status": zones + zone + "status: {nodes: {selected: 3}}\n",
	} {
		s := in(t, text)
		if got := properties(t, s); got != want || len(s.Ignored) > 0 {
			t.Errorf("%s: got %s, want %s; ignored %v", name, got, want, s.Ignored)
		}
		if got := s.Types.Of("DNSZone"); got == nil || got.Name != "dnszones" || len(s.Types.Definitions()) != 1 {
			t.Errorf("%s: the types lack DNSZone: %v", name, s.Types.Definitions())
		}
	}
}

func TestFaultsOfExternalTypesAndResourcesHaveALine(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"unknown type":      {zone, []string{"stdin:3: DNSZone/example.org: kind: no ExternalType defines DNSZone: add its type with -f or to --types-dir"}},
		"unknown version":   {zones + strings.Replace(zone, "types.fettle.dev/v1alpha1", "types.fettle.dev/v1", 1), []string{"stdin:16: DNSZone/example.org: apiVersion: unknown version types.fettle.dev/v1; use types.fettle.dev/v1alpha1"}},
		"misspelled":        {zones + strings.Replace(zone, "serial", "seriall", 1), []string{"stdin:21: DNSZone/example.org: spec.properties.seriall: unknown field; did you mean serial?"}},
		"wrong type":        {zones + strings.Replace(zone, "serial: 7", `serial: "7"`, 1), []string{"stdin:21: DNSZone/example.org: spec.properties.serial: must be a whole number, not a string: write it without quotes"}},
		"small":             {zones + strings.Replace(zone, "serial: 7", "serial: 0", 1), []string{"stdin:21: DNSZone/example.org: spec.properties.serial: Invalid value: 0: spec.properties.serial in body should be greater than or equal to 1"}},
		"sensitive":         {zones + strings.Replace(zone, "serial: 7", "token: marker", 1), []string{"stdin:21: DNSZone/example.org: spec.properties.token: Too long: may not be more than 3 bytes"}},
		"sensitive number":  {strings.Replace(zones, "{name: serial,", "{name: serial, sensitive: true,", 1) + strings.Replace(zone, "serial: 7", "serial: 0", 1), []string{"stdin:21: DNSZone/example.org: spec.properties.serial: Invalid value: spec.properties.serial in body should be greater than or equal to 1"}},
		"default fails":     {strings.Replace(zones, "'hostmaster.' + self.zone", "self.token", 1) + zone, []string{"stdin:19: DNSZone/example.org: spec: properties.contact: cannot compute the default: it reads token, which the resource does not set: set it, or test it with has(self.token) in the type"}},
		"resource twice":    {zones + zone + zone, []string{"stdin:23: DNSZone/example.org: is already in stdin:16; rename or remove one"}},
		"type not decoded":  {strings.Replace(zones, "version: 1.0.0", "version: 1.0", 1), []string{"stdin:6: ExternalType/dnszones: spec.version: must be a string, not a number: put it in quotes"}},
		"type not valid":    {strings.Replace(zones, "behaviour: Namevar, ", "", 1), []string{"stdin:4: ExternalType/dnszones: spec: Invalid value: no attribute has the behaviour Namevar: mark those that identify an object"}},
		"schema not valid":  {strings.Replace(zones, "minimum: 1", "least: 1", 1), []string{`stdin:1: ExternalType/dnszones: spec.attributes[serial].schema: unknown field "least"`}},
		"default too long":  {strings.Replace(zones, "self.zone\", schema: {type: string}", "self.zone\", schema: {type: string, maxLength: 5}", 1) + zone, []string{"stdin:19: DNSZone/example.org: spec: properties.contact: the default does not fit its schema: Too long: may not be more than 5 bytes"}},
		"default not valid": {strings.Replace(zones, "'hostmaster.' + self.zone", "7", 1), []string{"stdin:1: ExternalType/dnszones: spec.attributes[contact].default: it returns integer, but must return string"}},
		"types conflict":    {zones + "---\n" + strings.Replace(zones, "1.0.0", "1.0.1", 1), []string{"stdin:16: ExternalType/dnszones: is another one in stdin:1: remove one of them"}},
		"kinds conflict":    {zones + "---\n" + strings.Replace(zones, "dnszones", "otherzones", 1), []string{"stdin:20: ExternalType/otherzones: spec.kind: ExternalType dnszones in stdin:1 defines DNSZone, too: use another kind"}},
		"built-in kind":     {strings.Replace(zones, "kind: DNSZone", "kind: File", 1), []string{`stdin:1: ExternalType/dnszones: spec.kind "File" is a built-in kind: use another name`}},
		"invalid name":      {zones + strings.Replace(zone, "example.org", "Example.org", 1), []string{"stdin:18: DNSZone/Example.org: metadata.name: Invalid value: \"Example.org\": " + nameRule + ": write metadata.name: example.org and spec.properties.zone: Example.org"}},
		"type's version":    {strings.Replace(zones, "v1alpha1", "v2", 1), []string{"stdin:1: ExternalType/dnszones: apiVersion: unknown version fettle.dev/v2; use fettle.dev/v1alpha1"}},
		"no name":           {zones + strings.Replace(zone, "name: example.org", "labels: {}", 1), []string{"stdin:18: metadata.name: is missing: give this DNSZone a name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := in(t, tt.text)
			var got []string
			for _, f := range s.Faults {
				got = append(got, f.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInstalledTypesAreKnown(t *testing.T) {
	t.Parallel()

	types, faults := manifest.ReadTypes(t.Context(), stdin(zones))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if got, want := properties(t, types.Read(t.Context(), stdin(zone), nil)), `{"contact":"hostmaster.example.org","serial":7}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s := types.Read(t.Context(), stdin(strings.Replace(zones, "1.0.0", "1.0.1", 1)), nil)
	if len(s.Faults) != 1 || !strings.Contains(s.Faults[0].Message, "is another one in stdin:1") {
		t.Errorf("a type that differs from an installed one: %v", s.Faults)
	}
	if _, faults = manifest.ReadTypes(t.Context(), stdin(zones+zone)); len(faults) != 1 || faults[0].Error() != "stdin:16: DNSZone/example.org is among the types: only ExternalTypes are read there; apply it with -f" {
		t.Errorf("a resource among types: %v", faults)
	}
}

func TestCacheDoesNotSurviveAChangeOfTheType(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	read := func(text string) *manifest.Set {
		cache := manifest.OpenCache(state.NewCache(filepath.Dir(dir), filepath.Base(dir)), []string{"-"})
		s := manifest.Read(t.Context(), stdin(text), cache)
		if err := cache.Save(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := read(zones + zone)
	if got, want := properties(t, first), `{"contact":"hostmaster.example.org","serial":7}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	second := read(strings.Replace(zones, "hostmaster.", "root.", 1) + zone)
	if got, want := properties(t, second), `{"contact":"root.example.org","serial":7}`; got != want {
		t.Errorf("after a change of the type: got %s, want %s", got, want)
	}
	if first.Digest == second.Digest {
		t.Error("the digest does not depend on the type")
	}
}
