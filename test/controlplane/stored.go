package controlplane

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
)

// StartOpen is Start for who wants to see what the control plane stores: stored is all that
// its etcd has at the moment, by key.
func StartOpen(t T) (cfg *rest.Config, stored func(t T) map[string]string) {
	t.Helper()
	env, cfg, _ := start(t)
	return cfg, func(t T) map[string]string {
		t.Helper()
		all, err := everything(env.ControlPlane.Etcd.URL)
		if err != nil {
			t.Fatalf("cannot read what etcd has: %v", err)
		}
		return all
	}
}

func everything(etcd *url.URL) (map[string]string, error) {
	answer, err := http.Post(etcd.JoinPath("v3/kv/range").String(), "application/json", bytes.NewBufferString(`{"key": "AA==", "range_end": "AA=="}`)) //nolint:noctx // it is over with the test
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("etcd says %s", answer.Status)
	}
	var found struct {
		KVs []struct{ Key, Value []byte }
	}
	if err := json.NewDecoder(answer.Body).Decode(&found); err != nil {
		return nil, err
	}
	all := make(map[string]string, len(found.KVs))
	for _, kv := range found.KVs {
		all[string(kv.Key)] = string(kv.Value)
	}
	return all, nil
}
