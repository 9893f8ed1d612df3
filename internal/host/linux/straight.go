package linux

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/internal/host"
)

// LookStraight implements [host.Reader].
func (h *Host) LookStraight() host.Reader { return h.straightened() }

// ActStraight implements [host.Host].
func (h *Host) ActStraight() host.Host { return h.straightened() }

func (h *Host) straightened() *Host {
	s := *h
	s.straight = true
	return &s
}

func (a as) LookStraight() host.Reader { return as{a.straightened(), a.who} }

func (a as) ActStraight() host.Host { return as{a.straightened(), a.who} }

// Times implements [host.Reader].
func (h *Host) Times(path string) (t host.Times, err error) {
	fd, err := h.openat(path, unix.O_PATH|unix.O_NOFOLLOW)
	if err != nil {
		return t, pathError("stat", path, missing(err))
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return t, pathError("stat", path, err)
	}
	return host.Times{
		Access: time.Unix(st.Atim.Unix()), Modify: time.Unix(st.Mtim.Unix()), Change: time.Unix(st.Ctim.Unix()),
	}, nil
}

func (a as) Times(path string) (t host.Times, err error) {
	err = a.try(func() error { t, err = a.Host.Times(path); return err })
	return t, err
}
