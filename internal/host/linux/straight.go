package linux

import "github.com/fettle-dev/fettle/internal/host"

// LookStraight implements [host.Reader].
func (h *Host) LookStraight() host.Reader { return h.straightened() }

// ActStraight implements [host.Host].
func (h *Host) ActStraight() host.Host { return h.straightened() }

func (h *Host) straightened() *Host {
	s := *h
	s.straight, s.follow = true, host.FollowNone
	return &s
}

func (a as) LookStraight() host.Reader { return as{a.straightened(), a.who} }

func (a as) ActStraight() host.Host { return as{a.straightened(), a.who} }
