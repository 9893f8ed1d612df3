package engine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
)

// A move is what happens before a run, and how the run is: which color and secret the
// catalog wants, what someone paints the thing by hand (or removes it), what of it can't
// be written, and whether it only reports.
type move struct {
	wants, paints string
	secret        string
	removes       bool
	fails         bool
	noop          bool // of the resource
	allNoop       bool // of the run
	skips         bool
}

// item is the thing as a move wants it.
func (m move) item(t *testing.T, w *machine) resource.Item {
	t.Helper()
	attributes := `{"ensure":"present","color":"` + m.wants + `"}`
	if m.secret != "" {
		attributes = `{"ensure":"present","color":"` + m.wants + `","secret":"` + m.secret + `"}`
	}
	item := w.item(t, "Thing/a", attributes)
	if m.noop {
		item.Noop = new(true)
	}
	return item
}

func (m move) play(t *testing.T, w *machine, store engine.Store) string {
	t.Helper()
	delete(w.fail, "color a")
	if m.fails {
		w.fail["color a"] = errBroken
	}
	if m.paints != "" {
		w.things["a"] = thing{Name: "a", Ensure: new("present"), Color: &m.paints}
	}
	if m.removes {
		delete(w.things, "a")
	}
	report := transact(t, []resource.Item{m.item(t, w)}, storing(store), func(tx *engine.Transaction) {
		tx.Noop = m.allNoop
		tx.Selected = func(resource.Item) bool { return !m.skips }
	})
	said := []string{string(report.Resources[0].State)}
	for _, ev := range report.Resources[0].Events {
		if ev.Corrective {
			said = append(said, ev.Property)
		}
	}
	if report.CorrectiveChange {
		said = append(said, "corrective")
	}
	return strings.Join(said, " ")
}

// Each run says how it ended, which properties drifted, and whether it corrected drift.
func TestDriftAndIntentionRunByRun(t *testing.T) {
	red := move{wants: "red"}
	for name, test := range map[string]struct {
		moves []move
		want  []string
	}{
		"a first run has nothing to correct":                  {[]move{{wants: "red", paints: "green"}}, []string{"Changed"}},
		"a first run that makes a thing":                      {[]move{red}, []string{"Changed"}},
		"a run in sync":                                       {[]move{red, red}, []string{"Changed", "InSync"}},
		"drift in the second run":                             {[]move{red, {wants: "red", paints: "green"}}, []string{"Changed", "Changed color corrective"}},
		"drift of what the first run found in sync":           {[]move{{wants: "red", paints: "red"}, {wants: "red", paints: "green"}}, []string{"InSync", "Changed color corrective"}},
		"drift in every run":                                  {[]move{red, {wants: "red", paints: "green"}, {wants: "red", paints: "green"}}, []string{"Changed", "Changed color corrective", "Changed color corrective"}},
		"a run after drift was corrected":                     {[]move{red, {wants: "red", paints: "green"}, red}, []string{"Changed", "Changed color corrective", "InSync"}},
		"what was removed by hand":                            {[]move{red, {wants: "red", removes: true}}, []string{"Changed", "Changed ensure corrective"}},
		"a new intention":                                     {[]move{red, {wants: "blue"}}, []string{"Changed", "Changed"}},
		"one new intention after the other":                   {[]move{red, {wants: "blue"}, {wants: "red"}, {wants: "blue"}}, []string{"Changed", "Changed", "Changed", "Changed"}},
		"drift that is the new intention":                     {[]move{red, {wants: "green", paints: "green"}}, []string{"Changed", "InSync"}},
		"drift together with a new intention":                 {[]move{red, {wants: "blue", paints: "green"}}, []string{"Changed", "Changed color corrective"}},
		"drift back to the intention before":                  {[]move{red, {wants: "blue"}, {wants: "blue", paints: "red"}}, []string{"Changed", "Changed", "Changed color corrective"}},
		"drift that a run only reports":                       {[]move{red, {wants: "red", paints: "green", allNoop: true}}, []string{"Changed", "Noop color"}},
		"drift that is corrected after it was reported":       {[]move{red, {wants: "red", paints: "green", allNoop: true}, red}, []string{"Changed", "Noop color", "Changed color corrective"}},
		"and after the resource alone was in noop":            {[]move{red, {wants: "red", paints: "green", noop: true}, red}, []string{"Changed", "Noop color", "Changed color corrective"}},
		"drift reported twice":                                {[]move{red, {wants: "red", paints: "green", noop: true}, {wants: "red", noop: true}}, []string{"Changed", "Noop color", "Noop color"}},
		"a new intention that is only reported":               {[]move{red, {wants: "blue", noop: true}}, []string{"Changed", "Noop"}},
		"and again":                                           {[]move{red, {wants: "blue", noop: true}, {wants: "blue", noop: true}}, []string{"Changed", "Noop", "Noop"}},
		"a new intention in every run that only reports":      {[]move{red, {wants: "blue", allNoop: true}, {wants: "green", allNoop: true}}, []string{"Changed", "Noop", "Noop"}},
		"a new intention that is done after it was reported":  {[]move{red, {wants: "blue", noop: true}, {wants: "blue"}}, []string{"Changed", "Noop", "Changed"}},
		"a first run in noop":                                 {[]move{{wants: "red", paints: "green", noop: true}, red}, []string{"Noop", "Changed"}},
		"drift after a first run in noop":                     {[]move{{wants: "red", paints: "green", noop: true}, {wants: "red", paints: "blue"}}, []string{"Noop", "Changed color corrective"}},
		"a first run in noop of what is not there":            {[]move{{wants: "red", noop: true}, red}, []string{"Noop", "Changed"}},
		"removal reported, and what comes back is drift":      {[]move{red, {wants: "red", removes: true, noop: true}, {wants: "red", paints: "green"}}, []string{"Changed", "Noop ensure", "Changed color corrective"}},
		"a failure corrects nothing":                          {[]move{red, {wants: "red", paints: "green", fails: true}}, []string{"Changed", "Failed color"}},
		"drift that is corrected after a failure":             {[]move{red, {wants: "red", paints: "green", fails: true}, red}, []string{"Changed", "Failed color", "Changed color corrective"}},
		"a new intention that is done after a failure":        {[]move{red, {wants: "blue", fails: true}, {wants: "blue"}}, []string{"Changed", "Failed", "Changed"}},
		"a first run that fails":                              {[]move{{wants: "red", paints: "green", fails: true}, red}, []string{"Failed", "Changed"}},
		"what is skipped corrects nothing":                    {[]move{red, {wants: "red", paints: "green", skips: true}}, []string{"Changed", "Skipped"}},
		"drift that is corrected after a skip":                {[]move{red, {wants: "red", paints: "green", skips: true}, red}, []string{"Changed", "Skipped", "Changed color corrective"}},
		"a new intention that is done after a skip":           {[]move{red, {wants: "blue", skips: true}, {wants: "blue"}}, []string{"Changed", "Skipped", "Changed"}},
		"drift of a secret is no matter of what was seen":     {[]move{{wants: "red", secret: "x"}, {wants: "red", secret: "x", paints: "red"}}, []string{"Changed", "Changed"}},
		"a property beside one that fails is remembered":      {[]move{red, {wants: "red", secret: "x", paints: "green", fails: true}, {wants: "red", secret: "x"}}, []string{"Changed", "Failed color", "Changed color corrective"}},
		"an ensure that was never remembered is no intention": {[]move{{wants: "red", skips: true}, {wants: "red", removes: true}}, []string{"Skipped", "Changed"}},
	} {
		t.Run(name, func(t *testing.T) {
			w, store := newMachine(), newMemory()
			var got []string
			for _, m := range test.moves {
				got = append(got, m.play(t, w, store))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}

// Of what failed in part, the part that did not is remembered as it is now.
func TestChangedDesiredStateAfterAFailureIsNotDrift(t *testing.T) {
	m, store := newMachine(), newMemory()
	m.things["a"] = redThing("a")
	m.fail["secret a"] = errBroken
	var got []bool
	for _, color := range []string{"blue", "green"} {
		report := transact(t, []resource.Item{m.item(t, "Thing/a", `{"color":"`+color+`","secret":"x"}`)}, storing(store))
		got = append(got, report.Resources[0].Corrective())
	}
	if diff := cmp.Diff([]bool{false, false}, got); diff != "" {
		t.Errorf("corrective (-want +got):\n%s", diff)
	}
	if last := store.observed[resource.Ref{Kind: "Thing", Name: "a"}]["color"]; last != "green" {
		t.Errorf("remembered is %q", last)
	}
}

// A change stays one, whatever else is only reported.
func TestPartialChangeIsNotReportedAsNoop(t *testing.T) {
	m := newMachine()
	items := []resource.Item{m.item(t, "Thing/a", red, "notify:Thing/b"), m.item(t, "Thing/b", red)}
	items[0].Noop = new(true)
	want := []string{
		"Thing/a Noop", "  created (noop)",
		"Thing/b Changed", "  created", "  would have been refreshed by 1 event (noop)",
	}
	if diff := cmp.Diff(want, lines(transact(t, items))); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// A run of a nest removes what the test puts there before. It says how many things were removed because of drift.
func TestWhatAppearsWhereAllIsPurgedIsDrift(t *testing.T) {
	type visit struct {
		puts    string
		catalog string
		noop    bool
		fails   bool
	}
	for name, test := range map[string]struct {
		visits []visit
		want   []string
	}{
		"what was there before the first run is none":   {[]visit{{puts: "a", catalog: "1"}}, []string{"Changed"}},
		"what appears later is":                         {[]visit{{catalog: "1"}, {puts: "a", catalog: "1"}}, []string{"", "Changed drift"}},
		"after a run that removed things":               {[]visit{{puts: "a", catalog: "1"}, {puts: "b", catalog: "1"}}, []string{"Changed", "Changed drift"}},
		"what a new catalog removes is none":            {[]visit{{catalog: "1"}, {puts: "a", catalog: "2"}}, []string{"", "Changed"}},
		"what was only reported":                        {[]visit{{catalog: "1", noop: true}, {puts: "a", catalog: "1", noop: true}, {catalog: "1", noop: true}}, []string{"", "Noop drift", "Noop drift"}},
		"what was there before it was reported is none": {[]visit{{puts: "a", catalog: "1", noop: true}, {catalog: "1", noop: true}, {catalog: "1"}}, []string{"Noop", "Noop", "Changed"}},
		"what a failure left is none":                   {[]visit{{puts: "a", catalog: "1", fails: true}, {catalog: "1"}}, []string{"Failed", "Changed"}},
		"a catalog without a digest":                    {[]visit{{}, {puts: "a"}}, []string{"", "Changed"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, store := newMachine(), newMemory()
			m.things["n"] = redThing("n")
			m.nested = map[string][]string{"n": {"no a", "no b"}}
			var got []string
			for _, v := range test.visits {
				delete(m.fail, "write a")
				if v.fails {
					m.fail["write a"] = errBroken
				}
				if v.puts != "" {
					m.things[v.puts] = redThing(v.puts)
				}
				nest := m.item(t, "Nest/n", red)
				nest.Noop = new(v.noop)
				report := transact(t, []resource.Item{nest}, storing(store), func(tx *engine.Transaction) { tx.Digest = v.catalog })
				said := ""
				for _, r := range report.Resources {
					if r.Ref.Kind == "Thing" {
						said = string(r.State)
						if r.Corrective() {
							said += " drift"
						}
					}
				}
				got = append(got, said)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("runs (-want +got):\n%s", diff)
			}
		})
	}
}
