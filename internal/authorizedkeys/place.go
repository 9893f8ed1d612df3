package authorizedkeys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
)

// Kind is the resource kind of a key.
const Kind = "SSHAuthorizedKey"

// Claim is a further key of a resource of [Kind], by which a catalog tells that the key of
// this name in the default file of the user, or in target, is managed.
func Claim(user, target, name string) string {
	if target == "" {
		return "~" + user + " " + name
	}
	return path.Clean(target) + " " + name
}

// Default is where the keys of a user are, below the home directory.
const Default = ".ssh/authorized_keys"

// A Place is where a file of keys is, and whose.
type Place struct {
	Path string
	// User whose it is and who looks and acts there; nil is root. Root acts in directories
	// that are root's alone.
	User *accounts.User
	who  host.Credentials
}

// A NoUserError says that a host does not have the user.
type NoUserError struct{ Name string }

// Error names the user and the way out.
func (e *NoUserError) Error() string {
	return fmt.Sprintf("user %s is no user of the host: declare User/%s", e.Name, e.Name)
}

// Accounts are the users and groups of a host.
type Accounts struct {
	Users  accounts.Users
	Groups accounts.Groups
}

// ReadAccounts reads them.
func ReadAccounts(h host.Reader) (a Accounts, err error) {
	if a.Users, err = accounts.ReadUsers(h); err != nil {
		return a, err
	}
	a.Groups, err = accounts.ReadGroups(h)
	return a, err
}

// Of is the place of a user's file, where target is "" the default one; without a user,
// target as root's. The error is a *NoUserError where there is no such user.
func (a Accounts) Of(user, target string) (Place, error) {
	if user == "" {
		return Place{Path: path.Clean(target)}, nil
	}
	u, ok := a.Users.Named(user)
	if !ok {
		return Place{}, &NoUserError{user}
	}
	if target == "" {
		target = Expand("~/"+Default, u)
	}
	return Place{Path: path.Clean(target), User: &u, who: a.Groups.Login(u)}, nil
}

// Expand is a path with the home directory of a user in place of ~ or %h at its
// beginning.
func Expand(file string, u accounts.User) string {
	for _, home := range []string{"~/", "%h/"} {
		if below, ok := strings.CutPrefix(file, home); ok {
			return path.Join("/", u.Home, below)
		}
	}
	return file
}

// Serves reports whether sshd could read the file at all: what the user can't open, or what
// is not there, lets nobody in.
func (p Place) Serves(h host.Reader) bool {
	file, err := p.open(h)
	if err != nil {
		return false
	}
	_ = file.Close()
	return true
}

// MaxSize is the largest file, in bytes, that is read: its user decides what is in it.
const MaxSize = 4 << 20

// Read reads the file. One that is not there is empty.
func (p Place) Read(h host.Reader) (File, error) {
	text, err := p.readAll(h)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return File{}, fmt.Errorf("cannot read the keys: %w", err)
	}
	return Parse(text), nil
}

func (p Place) readAll(h host.Reader) ([]byte, error) {
	f, err := p.open(h)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err == nil && len(text) > MaxSize {
		err = fmt.Errorf("%s is larger than %d bytes: take out of it by hand what is no key", p.Path, MaxSize)
	}
	return text, err
}

// open opens the file for whoever looks there: a user is led nowhere by symlinks that was
// not open to that user before, and root nowhere at all.
func (p Place) open(h host.Reader) (io.ReadCloser, error) {
	if !p.isRoots() {
		return h.LookAs(p.who).Open(p.Path)
	}
	dir, err := h.Lookup(path.Dir(p.Path), host.Links{AtEnd: true})
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := p.rootsAlone(dir); err != nil {
		return nil, err
	}
	file, err := dir.Child(path.Base(p.Path))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Open()
}

// isRoots says that root acts, whom nothing holds back.
func (p Place) isRoots() bool { return p.User == nil || p.who.UID == 0 }

// rootsAlone is an error if others have a say in what is in a directory of root's keys.
func (p Place) rootsAlone(dir host.Handle) error {
	only, err := dir.OnlyRootWrites()
	if err == nil && !only {
		err = fmt.Errorf("others than root can change what is in %s, and root's keys are kept in no such directory: "+
			"name the user of target %s", dir.Path(), p.Path)
	}
	return err
}

// Modes of what is a user's alone.
const (
	fileMode uint32 = 0o600
	dirMode  uint32 = 0o700
)

// Write replaces the file. The user's own is for that user alone, and so is its
// directory where there was none. Root's is as it was, or readable by all if it is new.
func (p Place) Write(ctx context.Context, h host.Host, f File) error {
	file := host.NewFile{Content: bytes.NewReader(f.Bytes()), UID: -1, GID: -1}
	if p.User != nil {
		file.UID, file.GID, file.Mode = int(p.User.UID), int(p.User.GID), new(fileMode)
	}
	dir, err := p.editDir(h)
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, err := dir.WriteFile(ctx, path.Base(p.Path), file); err != nil {
		return fmt.Errorf("cannot write the keys: %w", err)
	}
	return nil
}

// editDir opens the directory of the keys for whoever acts there. A user's is made.
func (p Place) editDir(h host.Host) (host.WritableHandle, error) {
	links := host.Links{AtEnd: true}
	if !p.isRoots() {
		h, links.Follow = h.ActAs(p.who), host.FollowAll
	}
	dir, err := h.Edit(path.Dir(p.Path), links)
	if p.User != nil && errors.Is(err, fs.ErrNotExist) {
		dir, err = p.makeDir(h, links)
	}
	if err == nil && p.isRoots() {
		if err = p.rootsAlone(dir); err != nil {
			return nil, errors.Join(err, dir.Close())
		}
	}
	return dir, err
}

func (p Place) makeDir(h host.Host, links host.Links) (host.WritableHandle, error) {
	home, name, err := h.EditParent(path.Dir(p.Path), links)
	if err != nil {
		return nil, p.noDir(err)
	}
	defer home.Close()
	if p.isRoots() {
		if err := p.rootsAlone(home); err != nil {
			return nil, err
		}
	}
	dir, err := home.Mkdir(name, dirMode)
	if err != nil {
		return nil, p.noDir(err)
	}
	return dir, nil
}

func (p Place) noDir(err error) error {
	return fmt.Errorf("cannot make the directory of the keys, as user %s: %w; make its home first, as manageHome of User/%s does",
		p.User.Name, err, p.User.Name)
}
