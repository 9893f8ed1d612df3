package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules: [{level: Metadata}]
`

// auditFlags make an API server log each request when it ends.
func (l *lab) auditFlags() ([]string, error) {
	policy := filepath.Join(l.dir, "policy.yaml")
	return []string{"--audit-policy-file=" + policy, "--audit-log-path=" + l.auditLog()}, os.WriteFile(policy, []byte(auditPolicy), 0o644)
}

func (l *lab) auditLog() string { return filepath.Join(l.dir, "audit.log") }

// A requester is a user of the API server: a service account, in a pod or on a node.
type requester struct{ account, pod, node string }

// sent reports whether the requester sent a request.
func (q requester) sent(e auditv1.Event) bool {
	extra := func(key string) string {
		if v := e.User.Extra["authentication.kubernetes.io/"+key]; len(v) == 1 {
			return v[0]
		}
		return ""
	}
	return e.User.Username == q.account && (q.pod == "" || extra("pod-name") == q.pod) && (q.node == "" || extra("node-name") == q.node)
}

// countRequests counts the requests of each pod that began since a time and have ended.
func (l *lab) countRequests(since time.Time, pods []pod) error {
	log, err := os.Open(l.auditLog())
	if err != nil {
		return err
	}
	defer log.Close()
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return err
		}
		if e.RequestReceivedTimestamp.Time.Before(since) {
			continue
		}
		for i := range pods {
			if pods[i].user.sent(e) {
				pods[i].count(e)
			}
		}
	}
	return lines.Err()
}

func (p *pod) count(e auditv1.Event) {
	p.requests++
	switch {
	case e.ObjectRef != nil && e.ObjectRef.Resource == "leases":
		p.leases++
	case e.Verb != "get" && e.Verb != "list" && e.Verb != "watch":
		p.writes++
	}
}
