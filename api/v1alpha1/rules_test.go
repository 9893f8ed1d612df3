package v1alpha1_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// resource returns a resource of a kind with a spec in YAML and an empty nodeSelector.
func resource(kind, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	attributes := map[string]any{"nodeSelector": map[string]any{}}
	Expect(yaml.Unmarshal([]byte(spec), &attributes)).To(Succeed(), spec)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "fettle.dev/v1alpha1",
		"kind":       kind,
		"metadata":   map[string]any{"name": "a"},
		"spec":       attributes,
	}}
}

func accepts(kind string) func(ctx SpecContext, spec string) {
	return func(ctx SpecContext, spec string) {
		Expect(k8s.Create(ctx, resource(kind, spec), client.DryRunAll)).To(Succeed())
	}
}

func refuses(kind string) func(ctx SpecContext, spec, message string) {
	return func(ctx SpecContext, spec, message string) {
		Expect(k8s.Create(ctx, resource(kind, spec), client.DryRunAll)).To(MatchError(ContainSubstring(message)))
	}
}

// saying names a table entry after its spec.
func saying(spec string, _ ...string) string { return spec }

var _ = DescribeTable("Every kind accepts as targeting", accepts("Group"), saying,
	Entry(nil, `{nodeSelector: {matchExpressions: [{key: role, operator: In, values: [web, db]}]}}`),
	Entry(nil, `{when: 'facts.os.family == "Debian"', noop: true, provider: groupadd}`),
	Entry(nil, `{require: [Package/nginx], before: [File/a.b-c], notify: [SystemService/nginx], subscribe: [File/motd]}`),
	Entry(nil, `{deletionPolicy: Orphan}`),
	Entry(nil, `{deletionPolicy: Delete}`),
	Entry(nil, `{deletionPolicy: Restore}`),
	Entry(nil, `{audit: [all]}`),
	Entry(nil, `{audit: [gid, members], logLevel: debug}`),
	Entry(nil, `{schedule: {range: ["2 - 4", "22:00-04:00", "01:30:00-01:30:59"], weekday: [Mon, Sun], period: daily, repeat: 4}}`),
	Entry(nil, `{schedule: {period: hourly, periodMatch: number, repeat: 1}}`),
	Entry(nil, `{schedule: {weekday: [Sat]}}`),
)

var _ = DescribeTable("Every kind rejects as targeting", refuses("Group"), saying,
	Entry(nil, `{nodeSelector: null}`, `spec.nodeSelector: Required value`),
	Entry(nil, `{nodeSelector: {matchLabel: {a: b}}}`, `unknown field "spec.nodeSelector.matchLabel"`),
	Entry(nil, `{when: true}`, `spec.when in body must be of type string`),
	Entry(nil, `{provider: ""}`, `spec.provider: Invalid value: ""`),
	Entry(nil, `{require: [file/motd]}`, `"file/motd" is not a kind and a metadata.name, such as Package/nginx`),
	Entry(nil, `{before: [File/]}`, `"File/" is not a kind and a metadata.name, such as Package/nginx`),
	Entry(nil, `{notify: [File/Motd]}`, `"File/Motd" is not a kind and a metadata.name, such as Package/nginx`),
	Entry(nil, `{subscribe: ["File[motd]"]}`, `"File[motd]" is not a kind and a metadata.name, such as Package/nginx`),
	Entry(nil, `{subscribe: File/motd}`, `spec.subscribe in body must be of type array`),
	Entry(nil, `{audit: []}`, `spec.audit`),
	Entry(nil, `{audit: [GID]}`, `spec.audit[0]`),
	Entry(nil, `{logLevel: error}`, `spec.logLevel: Unsupported value: "error"`),
	Entry(nil, `{schedule: {}}`, `schedule is empty`),
	Entry(nil, `{schedule: {range: ["22:00"]}}`, `range must be two times of day`),
	Entry(nil, `{schedule: {range: ["22:60-23:00"]}}`, `range must be two times of day`),
	Entry(nil, `{schedule: {weekday: [Mon, Mon]}}`, `spec.schedule.weekday[1]: Duplicate value`),
	Entry(nil, `{schedule: {period: daily, repeat: 0}}`, `spec.schedule.repeat`),
	Entry(nil, `{schedule: {repeat: 2, range: ["2-4"]}}`, `periodMatch and repeat require period`),
	Entry(nil, `{schedule: {period: daily, periodMatch: number, repeat: 2}}`, `repeat requires periodMatch: distance`),
	Entry(nil, `{deletionPolicy: Retain}`, `spec.deletionPolicy: Unsupported value: "Retain"`),
)

var _ = DescribeTable("A File accepts", accepts("File"), saying,
	Entry(nil, `{path: /etc/motd}`),
	Entry(nil, `{path: /etc/..motd}`),
	Entry(nil, `{path: /etc/motd.../a}`),
	Entry(nil, `{path: "/srv/with space/ü"}`),
	Entry(nil, `{path: /etc/a, content: ""}`),
	Entry(nil, `{path: /etc/a, ensure: present, content: a}`),
	Entry(nil, `{path: /etc/a, ensure: file, contentTemplate: "{{ .node.name }}"}`),
	Entry(nil, `{path: /etc/a, contentFrom: {configMapKeyRef: {namespace: a, name: b, key: c}}}`),
	Entry(nil, `{path: /etc/a, contentFrom: {secretKeyRef: {namespace: a, name: b, key: c}}, backup: None}`),
	Entry(nil, `{path: /etc/a, contentFrom: {secretKeyRef: {namespace: a, name: b, key: c}}, acceptSelfLabelledNodes: true}`),
	Entry(nil, `{path: /etc/a, source: "https://example.com/a", caFrom: {configMapKeyRef: {namespace: a, name: b, key: c}}}`),
	Entry(nil, `{path: /etc/a, source: "https://example.com/a", caFrom: {secretKeyRef: {namespace: a, name: b, key: c}}}`),
	Entry(nil, `{path: /etc/a, target: ../b}`),
	Entry(nil, `{path: /etc/a, ensure: link, target: /etc/b}`),
	Entry(nil, `{path: /etc/a, ensure: present, target: /etc/b}`),
	Entry(nil, `{path: /etc/a, ensure: absent, force: true}`),
	Entry(nil, `{path: /etc/a, owner: 0, group: staff}`),
	Entry(nil, `{path: /etc/a, mode: "0644"}`),
	Entry(nil, `{path: /etc/a, mode: "755"}`),
	Entry(nil, `{path: /etc/a, mode: "7777"}`),
	Entry(nil, `{path: /etc/a, mode: "u=rw,g=r,o="}`),
	Entry(nil, `{path: /etc/a, mode: "+x"}`),
	Entry(nil, `{path: /etc/a, mode: "ug+rwX-s,o=g"}`),
	Entry(nil, `{path: /etc/a, content: a, validateCmd: "visudo -c -f %"}`),
)

var _ = DescribeTable("A File rejects", refuses("File"), saying,
	Entry(nil, `{path: ""}`, `path must be absolute, such as /etc/motd`),
	Entry(nil, `{path: ~/a}`, `path must be absolute, such as /etc/motd`),
	Entry(nil, `{path: /etc/./a}`, `path must not contain . or ..: write the resolved path`),
	Entry(nil, `{path: /etc/a/..}`, `path must not contain . or ..: write the resolved path`),
	Entry(nil, `{path: /..}`, `path must not contain . or ..: write the resolved path`),
	Entry(nil, `{path: /etc/a, content: a, target: b}`, `content, contentTemplate, contentFrom and target are mutually exclusive: set only one`),
	Entry(nil, `{path: /etc/a, content: "", contentFrom: {configMapKeyRef: {namespace: a, name: b, key: c}}}`, `content, contentTemplate, contentFrom and target are mutually exclusive: set only one`),
	Entry(nil, `{path: /etc/a, ensure: absent, content: a}`, `content requires ensure: file: change ensure, or remove the content`),
	Entry(nil, `{path: /etc/a, ensure: link, contentTemplate: a}`, `content requires ensure: file: change ensure, or remove the content`),
	Entry(nil, `{path: /etc/a, ensure: directory, contentFrom: {configMapKeyRef: {namespace: a, name: b, key: c}}}`, `content requires ensure: file: change ensure, or remove the content`),
	Entry(nil, `{path: /etc/a, ensure: directory, target: /etc/b}`, `target requires ensure: link: change ensure, or remove target`),
	Entry(nil, `{path: /etc/a, ensure: absent, target: /etc/b}`, `target requires ensure: link: change ensure, or remove target`),
	Entry(nil, `{path: /etc/a, target: ""}`, `spec.target: Invalid value: ""`),
	Entry(nil, `{path: /etc/a, owner: true}`, `spec.owner`),
	Entry(nil, `{path: /etc/a, mode: ""}`, `mode must be octal, such as "0644", or symbolic, such as "u=rw,go=r"`),
	Entry(nil, `{path: /etc/a, mode: "64"}`, `mode must be octal, such as "0644", or symbolic, such as "u=rw,go=r"`),
	Entry(nil, `{path: /etc/a, mode: "0888"}`, `mode must be octal, such as "0644", or symbolic, such as "u=rw,go=r"`),
	Entry(nil, `{path: /etc/a, mode: "00644"}`, `mode must be octal, such as "0644", or symbolic, such as "u=rw,go=r"`),
	Entry(nil, `{path: /etc/a, mode: u}`, `mode must be octal, such as "0644", or symbolic, such as "u=rw,go=r"`),
	Entry(nil, `{path: /etc/a, mode: "u=rw,"}`, `mode must be octal, such as "0644", or symbolic, such as "u=rw,go=r"`),
	Entry(nil, `{path: /etc/a, mode: "u=rw, g=r"}`, `mode must be octal, such as "0644", or symbolic, such as "u=rw,go=r"`),
	Entry(nil, `{path: /etc/a, contentFrom: {secretKeyRef: {namespace: a, name: b, key: c, optional: true}}}`, `unknown field "spec.contentFrom.secretKeyRef.optional"`),
	Entry(nil, `{path: /etc/a, contentFrom: {secretKeyRef: {name: b, key: c}}}`, `spec.contentFrom.secretKeyRef.namespace: Required value`),
	Entry(nil, `{path: /etc/a, backup: Bucket, contentFrom: {secretKeyRef: {namespace: a, name: b, key: c}}}`, `backup must be None if the content comes from a Secret`),
	Entry(nil, `{path: /etc/a, source: "https://example.com/a", caFrom: {configMapKeyRef: {name: b, key: c}}}`, `spec.caFrom.configMapKeyRef.namespace: Required value`),
	Entry(nil, `{path: /etc/a, source: /srv/a, caFrom: {configMapKeyRef: {namespace: a, name: b, key: c}}}`, `headersFrom, ca and caFrom require a source that is a URL`),
	Entry(nil, `{path: /etc/a, contents: a}`, `unknown field "spec.contents"`),
)

var _ = DescribeTable("A Package accepts", accepts("Package"), saying,
	Entry(nil, `{}`),
	Entry(nil, `{name: "libc6:i386", ensure: latest}`),
	Entry(nil, `{name: g++, ensure: "4:12.2.0-3"}`),
	Entry(nil, `{ensure: 3.0.17-1~deb12u2, mark: hold}`),
	Entry(nil, `{ensure: ">=1:1.0-1~rc1 <2.0"}`),
	Entry(nil, `{ensure: "=1.0"}`),
	Entry(nil, `{source: /srv/tree_1.0.deb, responseFile: /srv/..a/.b, allowVirtual: false, reinstallOnRefresh: true}`),
	Entry(nil, `{ensure: absent, mark: none}`),
	Entry(nil, `{ensure: purged}`),
	Entry(nil, `{mark: hold}`),
	Entry(nil, `{installOptions: [--no-install-recommends], environment: [DEBIAN_PRIORITY=critical, EMPTY=], configFiles: replace}`),
)

var _ = DescribeTable("A Package rejects", refuses("Package"), saying,
	Entry(nil, `{name: ""}`, `spec.name: Invalid value: ""`),
	Entry(nil, `{name: nginx curl}`, `name must not start with - or contain white space`),
	Entry(nil, `{name: "nginx\n"}`, `name must not start with - or contain white space`),
	Entry(nil, `{ensure: --force}`, `ensure must be present, installed, latest, absent, purged, a version, or a range of versions such as >=1.0 <2.0`),
	Entry(nil, `{ensure: ">=1.0  <2.0"}`, `a range of versions such as >=1.0 <2.0`),
	Entry(nil, `{ensure: ">= 1.0"}`, `a range of versions such as >=1.0 <2.0`),
	Entry(nil, `{ensure: "=>1.0"}`, `a range of versions such as >=1.0 <2.0`),
	Entry(nil, `{source: /srv/../tree.deb}`, `source must be an absolute path without . or .. that ends in .deb`),
	Entry(nil, `{source: /srv/tree.rpm}`, `source must be an absolute path without . or .. that ends in .deb`),
	Entry(nil, `{responseFile: /srv/..}`, `responseFile must be an absolute path without . or ..`),
	Entry(nil, `{allowVirtual: "yes"}`, `spec.allowVirtual in body must be of type boolean`),
	Entry(nil, `{ensure: 1.0}`, `spec.ensure in body must be of type string`),
	Entry(nil, `{ensure: true}`, `spec.ensure in body must be of type string`),
	Entry(nil, `{ensure: absent, mark: hold}`, `mark: hold cannot be combined with ensure: absent or purged: remove mark, or change ensure`),
	Entry(nil, `{mark: unhold}`, `spec.mark: Unsupported value: "unhold": supported values: "hold", "none"`),
)

var _ = DescribeTable("A User accepts", accepts("User"), saying,
	Entry(nil, `{}`),
	Entry(nil, `{name: ann.example_2, uid: 0, gid: 0}`),
	Entry(nil, `{name: "web$", uid: 4294967294, gid: users}`),
	Entry(nil, `{groups: [], membership: inclusive}`),
	Entry(nil, `{home: /, shell: /bin/sh}`),
	Entry(nil, `{home: /home/nina, shell: /usr/sbin/nologin, comment: Nina Núñez}`),
	Entry(nil, `{comment: ""}`),
	Entry(nil, `{password: "!"}`),
	Entry(nil, `{password: "$6$salt$hashed/with.n"}`),
)

var _ = DescribeTable("A User rejects", refuses("User"), saying,
	Entry(nil, `{name: ""}`, `spec.name: Invalid value: ""`),
	Entry(nil, `{name: "-ann"}`, `name must be a login name: letters, digits, _ . and -, not starting with a digit or -`),
	Entry(nil, `{name: "ann:x"}`, `name must be a login name: letters, digits, _ . and -, not starting with a digit or -`),
	Entry(nil, `{name: "ann\n"}`, `name must be a login name: letters, digits, _ . and -, not starting with a digit or -`),
	Entry(nil, `{name: a23456789012345678901234567890123}`, `spec.name: Too long`),
	Entry(nil, `{uid: "1500"}`, `spec.uid in body must be of type integer`),
	Entry(nil, `{uid: 4294967295}`, `spec.uid in body should be less than or equal to 4294967294`),
	Entry(nil, `{gid: 1.5}`, `spec.gid`),
	Entry(nil, `{groups: [web, web]}`, `spec.groups[1]: Duplicate value: "web"`),
	Entry(nil, `{groups: ["a,b"]}`, `spec.groups[0]: Invalid value: "a,b"`),
	Entry(nil, `{home: "/home/a:b"}`, `home must be an absolute path without a colon`),
	Entry(nil, `{home: "/home/a\nroot::0:0"}`, `home must be an absolute path without a colon`),
	Entry(nil, `{shell: ""}`, `shell must be an absolute path without a colon`),
	Entry(nil, `{shell: "/bin/sh\n"}`, `shell must be an absolute path without a colon`),
	Entry(nil, `{comment: "a\nb"}`, `comment must not contain a colon, a line break or another control character`),
	Entry(nil, `{password: "a\nb"}`, `password must be a hash as in /etc/shadow, or ! for no password: create one with openssl passwd -6`),
	Entry(nil, `{manageHome: "yes"}`, `spec.manageHome in body must be of type boolean`),
)

var _ = DescribeTable("A Group accepts", accepts("Group"), saying,
	Entry(nil, `{}`),
	Entry(nil, `{name: _web, gid: 0, allowDupe: true}`),
	Entry(nil, `{ensure: absent}`),
)

var _ = DescribeTable("A Group rejects", refuses("Group"), saying,
	Entry(nil, `{name: "web:x"}`, `name must be a group name: letters, digits, _ . and -, not starting with a digit or -`),
	Entry(nil, `{gid: -1}`, `spec.gid in body should be greater than or equal to 0`),
	Entry(nil, `{ensure: exists}`, `spec.ensure: Unsupported value: "exists": supported values: "present", "absent"`),
)

var _ = DescribeTable("A SystemService accepts", accepts("SystemService"), saying,
	Entry(nil, `{}`),
	Entry(nil, `{name: getty@tty1, ensure: running, enable: true, mask: false}`),
	Entry(nil, `{name: backup.timer, ensure: stopped, enable: false, mask: true}`),
	Entry(nil, `{name: dbus-org.freedesktop.login1.service, reloadOnRefresh: true}`),
	Entry(nil, `{mask: true}`),
)

var _ = DescribeTable("A SystemService rejects", refuses("SystemService"), saying,
	Entry(nil, `{name: ""}`, `spec.name: Invalid value: ""`),
	Entry(nil, `{name: "-H"}`, `name must be a unit name, such as nginx or nginx.service`),
	Entry(nil, `{name: "a*"}`, `name must be a unit name, such as nginx or nginx.service`),
	Entry(nil, `{name: "a\n"}`, `name must be a unit name, such as nginx or nginx.service`),
	Entry(nil, `{enable: mask}`, `spec.enable in body must be of type boolean`),
	Entry(nil, `{mask: true, enable: true, ensure: stopped}`, `mask: true cannot be combined with enable: true, because a masked service cannot start at boot: remove one of them`),
	Entry(nil, `{mask: true, enable: false, ensure: running}`, `mask: true cannot be combined with ensure: running, because a masked service cannot start: remove one of them`),
)

var _ = Describe("A password in plain text", func() {
	It("is rejected without being quoted", func(ctx SpecContext) {
		err := k8s.Create(ctx, resource("User", `{password: hunter2}`), client.DryRunAll)
		Expect(err).To(MatchError(ContainSubstring("create one with openssl passwd -6")))
		Expect(err).NotTo(MatchError(ContainSubstring("hunter2")))
	})
})
