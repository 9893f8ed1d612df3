package engine

import "github.com/fettle-dev/fettle/internal/resource"

// call is what every call of a provider gets besides the host.
func (r *run) call() resource.Call {
	return resource.Call{Bucket: r.Bucket, Stopped: r.interrupted, Trace: r.Trace != nil}
}

// sharedReader returns a reader for calls between which nothing is written: they look things up once.
func (r *run) sharedReader() resource.Reader {
	c := r.call()
	c.Memo = resource.NewMemo()
	return c.Reader(r.Reader)
}

// writer returns the host for changes of a resource, whose report gets the notes.
func (r *run) writer(e *entry) resource.Writer {
	c := r.call()
	c.Note = e.note
	return c.Writer(r.Host)
}
