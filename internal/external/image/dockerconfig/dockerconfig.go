// Package dockerconfig reads the credentials of registries from a config.json, as docker login, podman login and
// Secrets of the type kubernetes.io/dockerconfigjson have them.
package dockerconfig

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
)

// A Credential is how a client authenticates to a registry. Its fields are secret, and printing it redacts them.
type Credential struct {
	Username, Password           string
	IdentityToken, RegistryToken string
}

// Format redacts the credential, whatever the verb.
func (Credential) Format(to fmt.State, _ rune) {
	_, _ = to.Write([]byte("[redacted]")) // fmt ignores errors too
}

// A Config has the credentials of a config.json. Credential helpers are ignored: they are programs. The zero value is empty.
type Config struct{ auths []auth }

// auth is a credential for what a pattern matches.
type auth struct {
	host, path string
	Credential
}

// Parse reads a config.json. The error does not contain a part of the text, which is secret.
func Parse(text []byte) (Config, error) {
	var file struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			Username      string `json:"username"`
			Password      string `json:"password"`
			IdentityToken string `json:"identitytoken"`
			RegistryToken string `json:"registrytoken"`
		} `json:"auths"`
	}
	if json.Unmarshal(text, &file) != nil {
		return Config{}, errors.New("it is not a config.json of docker: write it with kubectl create secret docker-registry, or docker login")
	}
	var c Config
	for _, pattern := range slices.Sorted(maps.Keys(file.Auths)) {
		a := file.Auths[pattern]
		found := auth{Credential: Credential{Username: a.Username, Password: a.Password, IdentityToken: a.IdentityToken, RegistryToken: a.RegistryToken}}
		found.host, found.path = split(pattern)
		if a.Auth != "" {
			plain, err := base64.StdEncoding.DecodeString(a.Auth)
			user, password, ok := strings.Cut(strings.TrimRight(string(plain), "\x00"), ":")
			if err != nil || !ok {
				return Config{}, fmt.Errorf("auths[%q].auth is not the base64 of a user, a colon and a password", pattern)
			}
			found.Username, found.Password = user, password
		}
		if found.Credential != (Credential{}) {
			c.auths = append(c.auths, found)
		}
	}
	return c, nil
}

// Docker Hub has several names.
const (
	hub      = "index.docker.io"
	hubAlias = "docker.io"
)

// split returns the host and the path of a pattern, such as registry.example.com/team, *.example.com or
// https://index.docker.io/v1/.
func split(pattern string) (host, in string) {
	if _, rest, ok := strings.Cut(pattern, "://"); ok {
		pattern = rest
	}
	host, in, _ = strings.Cut(pattern, "/")
	in = strings.Trim(in, "/")
	if in == "v1" || in == "v2" { // of the registry's API
		in = ""
	}
	return canonical(host), in
}

func canonical(host string) string {
	if host == hubAlias {
		return hub
	}
	return host
}

// For returns the credential for a repository of a registry. As in the kubelet, * stands for a label of a host's name or a part
// of it, a path matches all repositories below it, and the longest pattern counts.
func (c Config) For(registry, repository string) (Credential, bool) {
	best := -1
	var found Credential
	for _, a := range c.auths {
		if length := len(a.host) + len(a.path); length > best && a.matches(canonical(registry), repository) {
			best, found = length, a.Credential
		}
	}
	return found, best >= 0
}

func (a auth) matches(registry, repository string) bool {
	if a.path != "" && repository != a.path && !strings.HasPrefix(repository, a.path+"/") {
		return false
	}
	if a.host == registry {
		return true
	}
	pattern, host := hostPort(a.host), hostPort(registry)
	labels, patterns := strings.Split(host.Hostname(), "."), strings.Split(pattern.Hostname(), ".")
	if pattern.Port() != host.Port() || len(labels) != len(patterns) {
		return false
	}
	for i, p := range patterns {
		if ok, err := path.Match(p, labels[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

func hostPort(host string) *url.URL { return &url.URL{Host: host} }
