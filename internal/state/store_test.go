package state_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/engine"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/claim"
	"github.com/fettle-dev/fettle/internal/state"
	"github.com/fettle-dev/fettle/test/fixtures/patient"
)

var _ engine.Store = (*state.Store)(nil)

func motd() resource.Ref  { return resource.Ref{Kind: "File", Name: "motd"} }
func nginx() resource.Ref { return resource.Ref{Kind: "SystemService", Name: "nginx"} }

func open(t *testing.T, dir string) *state.Store {
	t.Helper()
	s, err := state.Open(dir, state.Options{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

func TestCommittedStateIsLoaded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lib/fettle")
	s := open(t, dir)
	s.SetObserved(motd(), map[string]string{"mode": "0644", "owner": ""})
	s.SetObserved(nginx(), map[string]string{"ensure": "running"})
	must(t, s.Commit())
	s.SetObserved(nginx(), map[string]string{"ensure": "never committed"})
	must(t, s.Close())

	s = open(t, dir)
	if diff := cmp.Diff(map[string]string{"mode": "0644", "owner": ""}, s.Observed(motd())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"ensure": "running"}, s.Observed(nginx())); diff != "" {
		t.Error(diff)
	}
	if got := s.Observed(resource.Ref{Kind: "File", Name: "other"}); got != nil {
		t.Errorf("what was never seen has %v", got)
	}
	info, err := os.Stat(dir)
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %o", info.Mode().Perm())
	}
}

func TestArmingIsDurableWithoutCommit(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	must(t, s.Arm([]resource.Ref{nginx(), nginx(), motd()}))
	must(t, s.Close())

	s = open(t, dir)
	if diff := cmp.Diff(map[resource.Ref]int{nginx(): 2, motd(): 1}, s.Armed()); diff != "" {
		t.Error(diff)
	}
	must(t, s.Disarm([]resource.Ref{nginx()}))
	must(t, s.Close())

	s = open(t, dir)
	if diff := cmp.Diff(map[resource.Ref]int{motd(): 1}, s.Armed()); diff != "" {
		t.Error(diff)
	}
}

func TestClaimingIsDurableWithoutCommit(t *testing.T) {
	dir := t.TempDir()
	claimOn := func(path string) claim.Claim {
		return claim.Claim{
			Kind: "File", Namevar: path, Ref: motd(), After: []resource.Ref{nginx()}, Deletion: resource.Restore, Provider: "posix",
			Delete: json.RawMessage(`{"path":"` + path + `"}`), Restore: map[string]json.RawMessage{"mode": json.RawMessage(`"0600"`)},
		}
	}
	a, b := claimOn("/etc/a"), claimOn("/etc/b/c")
	s := open(t, dir)
	must(t, s.Claim([]claim.Claim{a, b}))
	s.SetObserved(motd(), map[string]string{"mode": "0644"})
	must(t, s.Close())

	s = open(t, dir)
	if diff := cmp.Diff(map[resource.Ref]claim.Claim{a.Key(): a, b.Key(): b}, s.Claims()); diff != "" || s.Observed(motd()) != nil {
		t.Errorf("%s, and observed is %v", diff, s.Observed(motd()))
	}
	s.DropClaim(a.Key())
	s.Retain(none)
	must(t, s.Commit())
	must(t, s.Close())

	s = open(t, dir)
	if diff := cmp.Diff(map[resource.Ref]claim.Claim{b.Key(): b}, s.Claims()); diff != "" {
		t.Error(diff)
	}
}

func TestAuditsAndChecksAreStored(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	key := string(s.Key())
	s.SetAudited(motd(), map[string]string{"mode": "0644"})
	s.SetAudited(nginx(), map[string]string{"ensure": "running"})
	s.SetChecked(motd(), noon())
	s.SetChecked(nginx(), noon())
	must(t, s.Commit())
	must(t, s.Close())

	s = open(t, dir)
	if len(key) != 32 || string(s.Key()) != key || string(open(t, t.TempDir()).Key()) == key {
		t.Errorf("the key was %x and is %x, also that of another store", key, s.Key())
	}
	if !s.Checked(motd()).Equal(noon()) || !s.Checked(resource.Ref{Kind: "File", Name: "other"}).IsZero() {
		t.Errorf("motd was looked at on %s", s.Checked(motd()))
	}
	s.Retain(only(nginx()))
	must(t, s.Commit())
	must(t, s.Close())

	s = open(t, dir)
	if s.Audited(motd()) != nil || !s.Checked(motd()).IsZero() {
		t.Errorf("of what left, there is still %v and %s", s.Audited(motd()), s.Checked(motd()))
	}
	if diff := cmp.Diff(map[string]string{"ensure": "running"}, s.Audited(nginx())); diff != "" || s.Checked(nginx()).IsZero() {
		t.Errorf("what stays is looked at on %s: %s", s.Checked(nginx()), diff)
	}
}

func TestRetainKeepsPendingRefreshes(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.SetObserved(motd(), map[string]string{"mode": "0644"})
	s.SetObserved(nginx(), map[string]string{"ensure": "running"})
	must(t, s.Arm([]resource.Ref{motd(), nginx()}))
	s.Retain(only(nginx()))
	must(t, s.Commit())
	must(t, s.Close())

	s = open(t, dir)
	if s.Observed(motd()) != nil || s.Observed(nginx()) == nil {
		t.Errorf("observed motd %v, nginx %v", s.Observed(motd()), s.Observed(nginx()))
	}
	if diff := cmp.Diff(map[resource.Ref]int{motd(): 1, nginx(): 1}, s.Armed()); diff != "" {
		t.Error(diff)
	}
}

func TestSourcesShareNothingButTheLock(t *testing.T) {
	dir := t.TempDir()
	apply := open(t, dir)
	apply.SetObserved(motd(), map[string]string{"mode": "0644"})
	must(t, apply.Arm([]resource.Ref{nginx()}))
	must(t, apply.Commit())
	var locked *state.LockedError
	if _, err := state.Open(dir, state.Options{Source: state.Cluster}); !errors.As(err, &locked) {
		t.Errorf("opened beside another source's run, with %v", err)
	}
	must(t, apply.Close())

	agent, err := state.Open(dir, state.Options{Source: state.Cluster})
	must(t, err)
	if agent.Observed(motd()) != nil || len(agent.Armed()) > 0 {
		t.Errorf("sees another source's %v and %v", agent.Observed(motd()), agent.Armed())
	}
	agent.SetObserved(motd(), map[string]string{"mode": "0600"})
	agent.Retain(none)
	must(t, agent.Disarm([]resource.Ref{nginx()}))
	must(t, agent.Commit())
	must(t, agent.Close())

	apply = open(t, dir)
	if diff := cmp.Diff(map[string]string{"mode": "0644"}, apply.Observed(motd())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[resource.Ref]int{nginx(): 1}, apply.Armed()); diff != "" {
		t.Error(diff)
	}
}

func TestUnchangedStateIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	s.SetObserved(motd(), map[string]string{"mode": "0644"})
	must(t, s.Arm([]resource.Ref{nginx()}))
	must(t, s.Commit())
	must(t, s.Close())
	before := tree(t, dir)

	s = open(t, dir)
	s.SetObserved(motd(), map[string]string{"mode": "0644"})
	must(t, s.Disarm([]resource.Ref{motd()}))
	s.Retain(only(motd(), nginx()))
	must(t, s.Commit())
	must(t, s.Close())
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// tree returns the inode, size and change time of each file in a directory, by name.
func tree(t *testing.T, dir string) map[string][3]int64 {
	t.Helper()
	all := map[string][3]int64{}
	must(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			return err
		}
		all[path] = [3]int64{int64(st.Ino), info.Size(), info.ModTime().UnixNano()}
		return nil
	}))
	return all
}

func TestStoreLocksOutASecondRun(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir)
	var locked *state.LockedError
	if _, err := state.Open(dir, state.Options{}); !errors.As(err, &locked) || locked.Dir != dir {
		t.Errorf("opened twice, with %v", err)
	}
	if _, err := state.OpenReadOnly(dir, state.Options{}); !errors.As(err, &locked) {
		t.Errorf("opened to read beside a run, with %v", err)
	}
	waited := make(chan error)
	go func() {
		s, err := state.Open(dir, state.Options{Wait: patient.Limit})
		if err == nil {
			err = s.Close()
		}
		waited <- err
	}()
	must(t, first.Close())
	must(t, <-waited)
}

func TestReadOnlyStoreCreatesAndLocksNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fettle")
	s, err := state.OpenReadOnly(dir, state.Options{})
	must(t, err)
	if s.Observed(motd()) != nil || len(s.Armed()) > 0 || len(s.Warnings()) > 0 {
		t.Error("a store that is missing is not empty")
	}
	if err := s.Arm([]resource.Ref{motd()}); err == nil {
		t.Error("armed what can't be kept")
	}
	s.SetObserved(motd(), map[string]string{"mode": "0644"})
	s.Retain(none)
	must(t, s.Commit())
	must(t, s.Close())
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory was made: %v", err)
	}

	w := open(t, dir)
	w.SetObserved(motd(), map[string]string{"mode": "0600"})
	must(t, w.Commit())
	must(t, w.Close())
	before := tree(t, dir)
	s, err = state.OpenReadOnly(dir, state.Options{})
	must(t, err)
	if diff := cmp.Diff(map[string]string{"mode": "0600"}, s.Observed(motd())); diff != "" {
		t.Error(diff)
	}
	must(t, s.Close())
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestDamagedStoreIsSetAside(t *testing.T) {
	for name, damage := range map[string]func(good []byte) []byte{
		"text":              func([]byte) []byte { return []byte(strings.Repeat("not a database\n", 1000)) },
		"cut short":         func(good []byte) []byte { return good[:len(good)/4] },
		"cut after meta":    func(good []byte) []byte { return good[:2*os.Getpagesize()] },
		"zeroed after meta": func(good []byte) []byte { clear(good[2*os.Getpagesize():]); return good },
		"zeroed":            func(good []byte) []byte { clear(good); return good },
		"garbage in pages": func(good []byte) []byte {
			for i := 2 * os.Getpagesize(); i < len(good); i++ {
				good[i] ^= 0xa5
			}
			return good
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "state.db")
			s := open(t, dir)
			s.SetObserved(motd(), map[string]string{"mode": "0644"})
			must(t, s.Commit())
			must(t, s.Close())
			good, err := os.ReadFile(file)
			must(t, err)
			bad := damage(good)
			must(t, os.WriteFile(file, bad, 0o600))

			reader, err := state.OpenReadOnly(dir, state.Options{})
			must(t, err)
			if len(reader.Warnings()) != 1 || reader.Observed(motd()) != nil {
				t.Errorf("a reader has %v and warns %q", reader.Observed(motd()), reader.Warnings())
			}

			s = open(t, dir)
			if len(s.Warnings()) != 1 || s.Observed(motd()) != nil {
				t.Errorf("has %v and warns %q", s.Observed(motd()), s.Warnings())
			}
			s.SetObserved(motd(), map[string]string{"mode": "0600"})
			must(t, s.Commit())
			aside, err := os.ReadFile(file + ".bad-20260102T120000.000000000Z")
			must(t, err)
			if diff := cmp.Diff(bad, aside); diff != "" {
				t.Error("what was set aside is not what was there")
			}
		})
	}
}

func TestOpenFailsIfTheDirectoryCannotBeCreated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(dir, nil, 0o600))
	if _, err := state.Open(dir, state.Options{}); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
}

func TestStateDirectoryStaysInsideTheRoot(t *testing.T) {
	for name, c := range map[string]struct{ link, to, want string }{
		"no symlink":          {"", "", "var/lib/fettle"},
		"an absolute symlink": {"var", "/data/var", "data/var/lib/fettle"},
		"one that leads out":  {"var", "../../data", "data/lib/fettle"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if c.link != "" {
				must(t, os.Symlink(c.to, filepath.Join(root, c.link)))
			}
			got, err := state.DirOf(root, state.DefaultDir)
			must(t, err)
			if diff := cmp.Diff(filepath.Join(root, c.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStateOfAProcessRootIsBelowThatRoot(t *testing.T) {
	dir, err := state.DirOf("/proc/self/root", t.TempDir())
	must(t, err)
	s := open(t, dir)
	must(t, s.Arm([]resource.Ref{nginx()}))
	if !strings.HasPrefix(dir, "/proc/self/root/") {
		t.Errorf("the state is in %s", dir)
	}
}

func none(resource.Ref) bool { return false }

func only(things ...resource.Ref) func(resource.Ref) bool {
	return func(thing resource.Ref) bool { return slices.Contains(things, thing) }
}

// An earlier version kept values by the names of resources, which may be about other things by now.
func TestStateOfEarlierVersionsIsDropped(t *testing.T) {
	dir := t.TempDir()
	db, err := bbolt.Open(filepath.Join(dir, "state.db"), 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bbolt.Tx) error {
		source, err := tx.CreateBucket([]byte("manifests"))
		must(t, err)
		for bucket, value := range map[string]string{"observed": `{"ensure":"present"}`, "audited": `{"mode":"0644"}`, "checked": `"2026-01-01T00:00:00Z"`, "values": `{"ensure":"present"}`, "audits": `{"mode":"0644"}`, "armed": "2"} {
			b, err := source.CreateBucket([]byte(bucket))
			must(t, err)
			must(t, b.Put([]byte("SystemService/nginx"), []byte(value)))
		}
		return nil
	}))
	must(t, db.Close())

	s := open(t, dir)
	if s.Observed(nginx()) != nil || s.Audited(nginx()) != nil || !s.Checked(nginx()).IsZero() || s.Armed()[nginx()] != 2 {
		t.Errorf("observed %v, audited %v, checked %v, armed %v", s.Observed(nginx()), s.Audited(nginx()), s.Checked(nginx()), s.Armed())
	}
	want := []string{"the state was written by an earlier version: its records of drift and audits are not used"}
	if diff := cmp.Diff(want, s.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	s.SetObserved(nginx(), map[string]string{"ensure": "running"})
	must(t, s.Commit())
	must(t, s.Close())

	s = open(t, dir)
	defer func() { must(t, s.Close()) }()
	if len(s.Warnings()) != 0 || s.Observed(nginx())["ensure"] != "running" || s.Armed()[nginx()] != 2 {
		t.Errorf("warnings %v, observed %v, armed %v", s.Warnings(), s.Observed(nginx()), s.Armed())
	}
}
