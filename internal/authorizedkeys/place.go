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

// Serves reports whether sshd could read the file at all: what the user can't open, be it
// that it is not there, lets nobody in.
func (p Place) Serves(h host.Reader) bool {
	reader, err := p.reader(h)
	if err != nil {
		return false
	}
	file, err := reader.Open(p.Path)
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
	reader, err := p.reader(h)
	if err != nil {
		return File{}, err
	}
	text, err := readAll(reader, p.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return File{}, fmt.Errorf("cannot read the keys: %w", err)
	}
	return Parse(text), nil
}

func readAll(h host.Reader, file string) ([]byte, error) {
	f, err := h.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err == nil && len(text) > MaxSize {
		err = fmt.Errorf("%s is larger than %d bytes: take out of it by hand what is no key", file, MaxSize)
	}
	return text, err
}

func (p Place) reader(h host.Reader) (host.Reader, error) {
	if p.isRoots() {
		return h, rootsAlone(h, p.Path)
	}
	return h.LookAs(p.who), nil
}

// isRoots says that root acts, whom nothing holds back.
func (p Place) isRoots() bool { return p.User == nil || p.who.UID == 0 }

// rootsAlone returns nil if nobody but root can have a say in where a path leads. It
// goes from the top, so what it has seen stays so.
func rootsAlone(h host.Reader, file string) error {
	dir := "/"
	for _, name := range append(strings.Split(strings.Trim(path.Dir(file), "/"), "/"), "") {
		info, err := h.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !info.IsDir() || info.UID != 0 || info.Mode&0o022 != 0 {
			return fmt.Errorf("%s is no directory of root alone, and root's keys are kept in no other: "+
				"name the user of target %s, or a path without symlinks", dir, file)
		}
		dir = path.Join(dir, name)
	}
	return nil
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
	if p.isRoots() {
		if err := rootsAlone(h, p.Path); err != nil {
			return err
		}
	} else {
		h = h.ActAs(p.who)
	}
	if p.User != nil {
		file.UID, file.GID, file.Mode = int(p.User.UID), int(p.User.GID), new(fileMode)
		if err := p.makeDir(h); err != nil {
			return err
		}
	}
	if _, err := h.WriteFile(ctx, p.Path, file); err != nil {
		return fmt.Errorf("cannot write the keys: %w", err)
	}
	return nil
}

func (p Place) makeDir(h host.Host) error {
	dir := path.Dir(p.Path)
	_, err := h.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = h.Mkdir(dir, dirMode)
	}
	if err != nil {
		return fmt.Errorf("cannot make the directory of the keys, as user %s: %w; make its home first, as manageHome of User/%s does",
			p.User.Name, err, p.User.Name)
	}
	return nil
}
