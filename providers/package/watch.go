package pkg

import "github.com/fettle-dev/fettle/internal/host"

// Watch implements [resource.Watcher]: what is installed and held. That there are newer
// versions is found at the next interval.
func (apt) Watch(host.Reader, Attributes) []string { return []string{dpkgStatus} }
