package controllers

// Invalidate does what a watch does when something that is compiled has changed.
func (r *Fleet) Invalidate() { r.outdated.Store(true) }
