package sshauthorizedkey

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/internal/authorizedkeys"
)

// normalize expands the short names of types.
func normalize(a *attributes) {
	if a.Type != nil {
		a.Type = new(fullType(*a.Type))
	}
}

// fullType returns the name of a type in files.
func fullType(kind string) string {
	switch kind {
	case "rsa":
		return "ssh-rsa"
	case "dsa":
		return "ssh-dss"
	case "ed25519":
		return "ssh-ed25519"
	case "ecdsa-sk":
		return "sk-ecdsa-sha2-nistp256@openssh.com"
	case "ed25519-sk":
		return "sk-ssh-ed25519@openssh.com"
	}
	return kind
}

// validate rejects values that sshd would read as another line, or ignore: the schema does not know the text of a key, and a line that
// nobody wrote lets somebody in.
func validate(a attributes) error {
	errs := []error{validateName(a)}
	if isAbsent(a) {
		return errors.Join(errs...)
	}
	if a.Type == nil || a.Key == nil { // a rule of the schema, without which there is no line
		errs = append(errs, errors.New("type and key are required, unless ensure is absent"))
	} else if err := authorizedkeys.CheckKey(*a.Type, *a.Key); err != nil {
		errs = append(errs, fmt.Errorf("key %w", err))
	}
	for _, o := range a.Options {
		if err := authorizedkeys.CheckOption(o); err != nil {
			errs = append(errs, fmt.Errorf("options has %q: %w; use a word, or a word, = and a value in double quotes", o, err))
		}
	}
	return errors.Join(errs...)
}

func validateName(a attributes) error {
	if a.Name == "" || strings.Contains(a.Name, "\n") || a.Name != authorizedkeys.Canonical(a.Name) {
		return fmt.Errorf("name %q is not a single line without surrounding spaces: use the comment of the key", a.Name)
	}
	return nil
}

// place returns the user and the file of a key; "" if they are not set.
func place(a attributes) (user, target string) {
	if a.User != nil {
		user = *a.User
	}
	if a.Target != nil {
		target = *a.Target
	}
	return user, target
}

// keys let a purge of a user's keys find out which keys of the file are managed.
func keys(a attributes) []string {
	user, target := place(a)
	if user == "" && target == "" {
		return nil
	}
	return []string{authorizedkeys.Claim(user, target, a.Name)}
}

// location is the file or, if that depends on the home directory, the user.
func location(a attributes) string {
	switch user, target := place(a); {
	case path.IsAbs(target):
		return path.Clean(target)
	case user != "" && target == "":
		return "~" + user
	}
	return ""
}

func userOf(a attributes) []string {
	if a.User == nil {
		return nil
	}
	return []string{*a.User}
}

// directories returns the directories above the file, the nearest first.
func directories(a attributes) []string {
	if a.Target == nil {
		return nil
	}
	var all []string
	for dir := path.Dir(path.Clean(*a.Target)); dir != "/" && dir != "."; dir = path.Dir(dir) {
		all = append(all, dir)
	}
	return all
}
