package authorizedkeys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
)

// Kind is the resource kind of a key.
const Kind = "SSHAuthorizedKey"

// Claim is a further key of a resource of [Kind]. It is in a catalog if the key of this name in the
// default file of the user, or in target, is managed.
func Claim(user, target, name string) string {
	if target == "" {
		return "~" + user + " " + name
	}
	return path.Clean(target) + " " + name
}

// Default is the file with the keys of a user, relative to the home directory.
const Default = ".ssh/authorized_keys"

// A Place is a file with keys, and its owner.
type Place struct {
	Path string
	// User owns the file, and reads and writes it; nil is root. Root only uses directories that nobody
	// else can write to.
	User *accounts.User
	who  host.Credentials
}

// A NoUserError reports a user that does not exist on the host.
type NoUserError struct{ Name string }

// Error names the user and the remedy.
func (e *NoUserError) Error() string {
	return fmt.Sprintf("user %s does not exist on the host: declare User/%s", e.Name, e.Name)
}

// Accounts are the users and groups of a host.
type Accounts struct {
	Users  accounts.Users
	Groups accounts.Groups
}

// ReadAccounts reads the accounts of a host.
func ReadAccounts(h host.Reader) (a Accounts, err error) {
	if a.Users, err = accounts.ReadUsers(h); err != nil {
		return a, err
	}
	a.Groups, err = accounts.ReadGroups(h)
	return a, err
}

// Of returns the place of a user's file, the default one if target is ""; without a user it is root's file
// target. The error is a *NoUserError if the user does not exist.
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

// Expand replaces ~ or %h at the beginning of a path by the home directory of a user.
func Expand(file string, u accounts.User) string {
	for _, home := range []string{"~/", "%h/"} {
		if below, ok := strings.CutPrefix(file, home); ok {
			return path.Join("/", u.Home, below)
		}
	}
	return file
}

// Serves reports whether sshd could read the file: it exists and the user can open it.
func (p Place) Serves(h host.Reader) bool {
	file, err := p.open(h)
	if err != nil {
		return false
	}
	_ = file.Close()
	return true
}

// MaxSize is the maximum size of a file in bytes. Users can write any content.
const MaxSize = 4 << 20

// Read reads the file. It is empty if it does not exist.
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
		err = fmt.Errorf("%s is larger than %d bytes: remove other lines by hand", p.Path, MaxSize)
	}
	return text, err
}

// open opens the file as its user, so that symlinks lead to nothing that the user could not read
// anyway. As root it follows none.
func (p Place) open(h host.Reader) (io.ReadCloser, error) {
	if !p.isRoots() {
		return h.LookAs(p.who).Open(p.Path)
	}
	dir, err := h.Lookup(path.Dir(p.Path), host.Links{AtEnd: true})
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := p.checkOnlyRoot(dir); err != nil {
		return nil, err
	}
	file, err := dir.Child(path.Base(p.Path))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.Open()
}

// isRoots reports whether root reads and writes the file, without restrictions.
func (p Place) isRoots() bool { return p.User == nil || p.who.UID == 0 }

// checkOnlyRoot returns an error if others can write to a directory with root's keys.
func (p Place) checkOnlyRoot(dir host.Handle) error {
	only, err := dir.OnlyRootWrites()
	if err == nil && !only {
		err = fmt.Errorf("users other than root can write to %s, so it is not safe for root's keys: "+
			"set the user of target %s", dir.Path(), p.Path)
	}
	return err
}

// Modes of a user's file and directory.
const (
	fileMode uint32 = 0o600
	dirMode  uint32 = 0o700
)

// Write replaces the file. A user's file is readable only by that user, and so is its directory if it
// is created. Root's file keeps its mode, or is readable by all if it is new.
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

// editDir opens the directory of the file as its user. It creates a user's directory.
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
		if err = p.checkOnlyRoot(dir); err != nil {
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
		if err := p.checkOnlyRoot(home); err != nil {
			return nil, err
		}
	}
	dir, err := home.Mkdir(name, dirMode)
	if err != nil {
		return nil, p.noDir(err)
	}
	return dir, nil
}

// CheckDir returns why the directory of the file can't be used or created by Write. madeHome says that the home directory will
// be created with the user.
func (p Place) CheckDir(h host.Reader, madeHome bool) error {
	dir := path.Dir(p.Path)
	info, err := h.Stat(dir)
	if p.User != nil && errors.Is(err, fs.ErrNotExist) {
		if madeHome && path.Dir(dir) == path.Clean(p.User.Home) {
			return nil
		}
		dir = path.Dir(dir)
		info, err = h.Stat(dir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &DirError{Dir: dir, Missing: true, Err: p.noDir(err)}
	case err != nil:
		return fmt.Errorf("cannot look at the directory of the keys: %w", err)
	case !info.IsDir():
		return &DirError{Dir: dir, Err: p.noDir(fmt.Errorf("%s is not a directory", dir))}
	case p.isRoots():
		return nil
	}
	return p.checkMode(dir, info)
}

// checkMode returns why the user can't create files in a directory. An access list may let the user do what the mode does not; the mode
// has the most that a list can grant in the bits of the group.
func (p Place) checkMode(dir string, info host.FileInfo) error {
	const need = 0o3
	grants := func(class int) bool { return info.Mode>>class&need == need }
	in := slices.Contains(p.who.Groups, uint32(info.GID)) || uint32(info.GID) == p.who.GID
	owns := uint32(info.UID) == p.who.UID
	switch {
	case owns && grants(6), !owns && in && grants(3), !owns && !in && grants(0):
		return nil
	case !owns && grants(3):
		return &AccessListError{dir}
	}
	return fmt.Errorf("cannot write the keys: user %s can't create files in %s: correct its owner or mode", p.User.Name, dir)
}

// An AccessListError reports a directory that only an access list may let the user write to.
type AccessListError struct{ Dir string }

// Error names the directory.
func (e *AccessListError) Error() string { return "an access list of " + e.Dir + " may decide" }

// A DirError reports a directory without which the file can't be written: it is missing, or is something else.
type DirError struct {
	Dir     string
	Missing bool
	Err     error
}

// Error returns the text of Err.
func (e *DirError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *DirError) Unwrap() error { return e.Err }

func (p Place) noDir(err error) error {
	if p.User == nil {
		return fmt.Errorf("cannot find the directory of %s: %w; create it first, with a File that has ensure: directory", p.Path, err)
	}
	return fmt.Errorf("cannot create the directory of the keys as user %s: %w; create its home first, for example by manageHome of User/%s",
		p.User.Name, err, p.User.Name)
}
