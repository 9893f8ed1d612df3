package file_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/host/hosttest"
	"github.com/fettle-dev/fettle/internal/resource"
	"github.com/fettle-dev/fettle/internal/resource/bound"
	"github.com/fettle-dev/fettle/internal/resource/resourcetest"
	"github.com/fettle-dev/fettle/providers/file"
)

// audited returns the values of properties of /x, some of which a manifest manages.
func audited(t *testing.T, h *hosttest.Host, manifest string, properties ...string) map[string]string {
	t.Helper()
	r, err := bound.Kind(file.Type(nowhere)).Bind(resource.Ref{Kind: "File", Name: "x"}, json.RawMessage(manifest))
	must(t, err)
	must(t, r.Audit(properties))
	must(t, r.Choose(nil, h, ""))
	must(t, r.Read(t.Context(), resourcetest.Reader(h)))
	values := map[string]string{}
	for _, v := range r.Audited(nil) {
		values[v.Property] = v.Value
	}
	return values
}

func TestAuditedPropertiesAreRead(t *testing.T) {
	t.Parallel()

	h := newHost(t, text("hello\n", 0o640, 1001, 2001))
	want := map[string]string{
		"content": "{sha256}5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03", "owner": "ann", "group": "web", "mode": "0640",
	}
	if diff := cmp.Diff(want, audited(t, h, `{"path": "/x", "ensure": "file"}`, "content", "owner", "group", "mode")); diff != "" {
		t.Error(diff)
	}
	want = map[string]string{"ensure": "absent", "content": ""}
	if diff := cmp.Diff(want, audited(t, h, `{"path": "/y", "mode": "0600"}`, "content", "ensure")); diff != "" {
		t.Error(diff)
	}
}

func TestAuditOnlyProperties(t *testing.T) {
	t.Parallel()

	h := newHost(t, text("hello\n", 0o640, 1001, 2001))
	info, err := h.Lstat("/x")
	must(t, err)
	want := map[string]string{
		"type": "file", "mtime": info.ModTime.UTC().Format(time.RFC3339Nano), "ctime": info.ChangeTime.UTC().Format(time.RFC3339Nano),
	}
	if diff := cmp.Diff(want, audited(t, h, `{"path": "/x"}`, "type", "mtime", "ctime")); diff != "" {
		t.Error(diff)
	}
	is := want
	for is["ctime"] == want["ctime"] { // file timestamps may be equal for some milliseconds
		must(t, h.Chmod("/x", 0o600))
		is = audited(t, h, `{"path": "/x"}`, "mtime", "ctime")
	}
	if is["mtime"] != want["mtime"] || is["ctime"] < want["ctime"] {
		t.Errorf("after a change of mode it was changed at %v, before at %v", is, want)
	}
	is = audited(t, newHost(t, fifo), `{"path": "/x"}`, "type", "ensure")
	if diff := cmp.Diff(map[string]string{"type": "fifo", "ensure": "fifo"}, is); diff != "" {
		t.Error(diff)
	}
}
