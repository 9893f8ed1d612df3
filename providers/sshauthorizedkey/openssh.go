package sshauthorizedkey

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/authorizedkeys"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// openssh edits the files that OpenSSH reads. Each key is read by itself, so that a file that a user
// made unreadable does not affect others.
type openssh struct{ accounts *accounts.Cache }

func (openssh) Name() string { return "openssh" }

func (openssh) Suits(resource.Facts, host.Reader) error { return nil }

func (o openssh) Read(_ context.Context, h resource.Reader, want attributes) (attributes, error) {
	d, err := o.open(h)
	if err != nil {
		return attributes{}, err
	}
	return d.state(want)
}

// List implements [resource.Lister]: the keys in the default files of all users.
func (o openssh) List(_ context.Context, h resource.Reader) ([]attributes, error) {
	d, err := o.open(h)
	if err != nil {
		return nil, err
	}
	return d.all()
}

func (o openssh) Write(ctx context.Context, h resource.Writer, is, want attributes, changes []resource.Change) error {
	return o.WriteAll(ctx, h, []resource.Write[attributes]{{Is: is, Want: want, Changes: changes}})[0]
}

// WriteAll implements [resource.BatchWriter]. It writes each file once, and reads it immediately
// before: it may also be the file of a user for whom it was just written.
func (o openssh) WriteAll(ctx context.Context, h resource.Writer, writes []resource.Write[attributes]) []error {
	d, err := o.open(h)
	if err != nil {
		return slices.Repeat([]error{err}, len(writes))
	}
	errs := make([]error, len(writes))
	var order []fileID
	in := map[fileID][]int{} // indexes of writes
	for i, w := range writes {
		errs[i] = resource.Certain(check(h, forecast.Accounts{Users: d.accounts.Users, Groups: d.accounts.Groups}, w))
		if errs[i] != nil {
			continue
		}
		id, _, err := d.place(w.Want)
		if errs[i] = err; err != nil {
			continue
		}
		if in[id] == nil {
			order = append(order, id)
		}
		in[id] = append(in[id], i)
	}
	for _, id := range order {
		err := d.rewrite(ctx, h, in[id], writes)
		for _, i := range in[id] {
			errs[i] = err
		}
	}
	for i, w := range writes {
		if errs[i] != nil {
			errs[i] = fmt.Errorf("cannot manage key %q: %w", w.Want.Name, errs[i])
		}
	}
	return errs
}

// rewrite carries out the writes of one file.
func (d *files) rewrite(ctx context.Context, h host.Host, which []int, writes []resource.Write[attributes]) error {
	s, err := d.file(writes[which[0]].Want)
	if err != nil {
		return err
	}
	for _, i := range which {
		s.edit(writes[i].Want)
	}
	return s.Write(ctx, h, s.file)
}

// A keyFile is a file that was read.
type keyFile struct {
	authorizedkeys.Place
	file authorizedkeys.File
}

func (s *keyFile) edit(want attributes) {
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

func (s *keyFile) named(name string) []authorizedkeys.Named {
	return slices.DeleteFunc(s.file.Keys(s.Path), func(k authorizedkeys.Named) bool { return k.Name != name })
}

// files caches the files that were read.
type files struct {
	h        host.Reader
	accounts authorizedkeys.Accounts
	read     map[fileID]*keyFile
}

// A fileID is a file that is read and written as a user.
type fileID struct{ user, path string }

func (o openssh) open(h host.Reader) (*files, error) {
	users, err := o.accounts.Users(h)
	if err != nil {
		return nil, err
	}
	groups, err := o.accounts.Groups(h)
	return &files{h: h, accounts: authorizedkeys.Accounts{Users: users, Groups: groups}, read: map[fileID]*keyFile{}}, err
}

func (d *files) place(want attributes) (id fileID, p authorizedkeys.Place, err error) {
	user, target := place(want)
	if user == "" && target == "" {
		return id, p, errNoPlace()
	}
	p, err = d.accounts.Of(user, target)
	return fileID{user, p.Path}, p, err
}

func (d *files) file(want attributes) (*keyFile, error) {
	id, p, err := d.place(want)
	if err != nil {
		return nil, err
	}
	if s, ok := d.read[id]; ok {
		return s, nil
	}
	file, err := p.Read(d.h)
	if err != nil {
		return nil, err
	}
	s := &keyFile{p, file}
	d.read[id] = s
	return s, nil
}

// state returns a key in the form of want. Of several lines it prefers one that is out of sync.
func (d *files) state(want attributes) (attributes, error) {
	is := attributes{Name: want.Name, Ensure: new(resource.Absent), User: want.User, Target: want.Target}
	if user, target := place(want); user == "" && target == "" {
		return d.find(want.Name)
	}
	s, err := d.file(want)
	if _, none := errors.AsType[*authorizedkeys.NoUserError](err); none {
		return is, nil // a user who does not exist has no keys
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

// find looks up a key by its name in the files of all users.
func (d *files) find(name string) (attributes, error) {
	all, err := d.all()
	if i := slices.IndexFunc(all, func(a attributes) bool { return a.Name == name }); i >= 0 {
		return all[i], err
	}
	return attributes{Name: name, Ensure: new(resource.Absent)}, err
}

// all returns the keys of all users. A file of several users counts for the first one. A user whose file can't be read does not affect
// others.
func (d *files) all() ([]attributes, error) {
	var all []attributes
	var failed error
	seen := map[string]bool{}
	for _, u := range d.accounts.Users {
		p, err := d.accounts.Of(u.Name, "")
		if err != nil || seen[p.Path] || !p.Serves(d.h) {
			continue // the user is in the list, so there is no error
		}
		seen[p.Path] = true
		file, err := p.Read(d.h)
		if err != nil {
			failed = &resource.PartialListError{Err: errors.Join(failed, err)}
		}
		for _, k := range file.Keys(p.Path) {
			a := attributes{Name: k.Name, User: new(u.Name)}
			setKey(&a, k.Key)
			all = append(all, a)
		}
	}
	return all, failed
}
