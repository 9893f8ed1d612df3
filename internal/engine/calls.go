package engine

import (
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// calls make the contexts of calls of providers.
type calls struct {
	hosts       hosts
	bucket      resource.Bucket
	remembered  *resource.Memo // by providers, until the end of the run
	interrupted func() error   // why the run has to stop, or nil
	trace       bool
}

// new returns the context of a call.
func (c *calls) new() resource.Call {
	return resource.Call{Bucket: c.bucket, Run: c.remembered, Stopped: c.interrupted, Trace: c.trace}
}

// reader returns the host as any resource may read it.
func (c *calls) reader() resource.Reader { return c.new().Reader(c.hosts.all) }

// sharedReader is reader for calls between which nothing is written, so that they look things up only once.
func (c *calls) sharedReader() resource.Reader { return c.sharedReaderOf(c.hosts.all) }

func (c *calls) sharedReaderOf(h host.Reader) resource.Reader {
	call := c.new()
	call.Memo = resource.NewMemo()
	return call.Reader(h)
}

// hostOf returns the host as a resource may read it.
func (c *calls) hostOf(n *node) host.Reader {
	if n.noop {
		return c.hosts.simulated
	}
	return c.hosts.all
}
