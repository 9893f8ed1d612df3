package pkg

// Watch implements [resource.Watcher]: what is installed and held. That there are newer
// versions is found at the next interval.
func (apt) Watch(Attributes) []string { return []string{dpkgStatus} }
