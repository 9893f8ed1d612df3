package sshauthorizedkey

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/authorizedkeys"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// openssh edits the files that OpenSSH reads. Each key is read by itself: a file that its
// user made unreadable is no matter to the others.
type openssh struct{ accounts *accounts.Cache }

func (openssh) Name() string { return "openssh" }

func (openssh) Suits(resource.Facts, host.Reader) error { return nil }

func (o openssh) Read(_ context.Context, h host.Reader, want attributes) (attributes, error) {
	d, err := o.desk(h)
	if err != nil {
		return attributes{}, err
	}
	return d.state(want)
}

// List reads the keys of all users, in their own default files.
func (o openssh) List(_ context.Context, h host.Reader) ([]attributes, error) {
	d, err := o.desk(h)
	if err != nil {
		return nil, err
	}
	return d.all()
}

func (o openssh) Write(ctx context.Context, h host.Host, is, want attributes, changes []resource.Change) error {
	return o.WriteAll(ctx, h, []resource.Write[attributes]{{Is: is, Want: want, Changes: changes}})[0]
}

// WriteAll writes each file once.
func (o openssh) WriteAll(ctx context.Context, h host.Host, writes []resource.Write[attributes]) []error {
	d, err := o.desk(h)
	if err != nil {
		return slices.Repeat([]error{err}, len(writes))
	}
	errs := make([]error, len(writes))
	of := make([]*sheet, len(writes))
	for i, w := range writes {
		if of[i], errs[i] = d.sheet(w.Want); errs[i] == nil {
			of[i].edit(w.Want)
		}
	}
	for _, s := range d.order {
		err := s.Write(ctx, h, s.file)
		for i := range writes {
			if of[i] == s {
				errs[i] = err
			}
		}
	}
	for i, w := range writes {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("cannot keep key %q: %w", w.Want.Name, errs[i])
		}
	}
	return errs
}

// A sheet is a file that was read.
type sheet struct {
	authorizedkeys.Place
	file authorizedkeys.File
}

func (s *sheet) edit(want attributes) {
	if isAbsent(want) {
		s.file.Drop(s.Path, want.Name)
		return
	}
	key := authorizedkeys.Key{Type: *want.Type, Key: *want.Key, Options: want.Options, Comment: want.Name}
	if old := s.named(want.Name); want.Options == nil && len(old) > 0 {
		key.Options = old[0].Options
	}
	s.file.Put(s.Path, want.Name, key)
}

func (s *sheet) named(name string) []authorizedkeys.Named {
	return slices.DeleteFunc(s.file.Keys(s.Path), func(k authorizedkeys.Named) bool { return k.Name != name })
}

// A desk holds the files that were read, each once.
type desk struct {
	h        host.Reader
	accounts authorizedkeys.Accounts
	sheets   map[[2]string]*sheet // by user and path
	order    []*sheet
}

func (o openssh) desk(h host.Reader) (*desk, error) {
	users, err := o.accounts.Users(h)
	if err != nil {
		return nil, err
	}
	groups, err := o.accounts.Groups(h)
	return &desk{h: h, accounts: authorizedkeys.Accounts{Users: users, Groups: groups}, sheets: map[[2]string]*sheet{}}, err
}

func (d *desk) sheet(want attributes) (*sheet, error) {
	user, target := place(want)
	if user == "" && target == "" {
		return nil, errors.New("user or target is needed: say whose file it is to leave")
	}
	p, err := d.accounts.Of(user, target)
	if err != nil {
		return nil, err
	}
	id := [2]string{user, p.Path}
	if s, ok := d.sheets[id]; ok {
		return s, nil
	}
	file, err := p.Read(d.h)
	if err != nil {
		return nil, err
	}
	s := &sheet{p, file}
	d.sheets[id], d.order = s, append(d.order, s)
	return s, nil
}

// state is a key as want would put it. Of several lines it is one that is not as it
// should be, if there is such.
func (d *desk) state(want attributes) (attributes, error) {
	is := attributes{Name: want.Name, Ensure: new(resource.Absent), User: want.User, Target: want.Target}
	if user, target := place(want); user == "" && target == "" {
		return d.find(want.Name)
	}
	s, err := d.sheet(want)
	if _, none := errors.AsType[*authorizedkeys.NoUserError](err); none {
		return is, nil // who is not there has no keys
	}
	if err != nil {
		return is, err
	}
	for i, k := range s.named(want.Name) {
		if i == 0 || wrong(k.Key, want) {
			setKey(&is, k.Key)
		}
	}
	return is, nil
}

func wrong(k authorizedkeys.Key, want attributes) bool {
	return want.Type != nil && k.Type != *want.Type || want.Key != nil && k.Key != *want.Key ||
		want.Options != nil && !slices.Equal(k.Options, want.Options)
}

func setKey(is *attributes, k authorizedkeys.Key) {
	is.Ensure, is.Type, is.Key = new(resource.Present), &k.Type, &k.Key
	is.Options = append([]string{}, k.Options...)
}

// find looks for a key that is merely named in the files of all users.
func (d *desk) find(name string) (attributes, error) {
	all, err := d.all()
	if i := slices.IndexFunc(all, func(a attributes) bool { return a.Name == name }); i >= 0 {
		return all[i], err
	}
	return attributes{Name: name, Ensure: new(resource.Absent)}, err
}

// all are the keys of all users. Where several have one file it is the first one's.
func (d *desk) all() ([]attributes, error) {
	var all []attributes
	seen := map[string]bool{}
	for _, u := range d.accounts.Users {
		p, err := d.accounts.Of(u.Name, "")
		if err != nil || seen[p.Path] || !p.Serves(d.h) {
			continue // an account of this very list is known
		}
		seen[p.Path] = true
		file, err := p.Read(d.h)
		if err != nil {
			return nil, err
		}
		for _, k := range file.Keys(p.Path) {
			a := attributes{Name: k.Name, User: new(u.Name)}
			setKey(&a, k.Key)
			all = append(all, a)
		}
	}
	return all, nil
}
