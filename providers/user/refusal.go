package user

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// hash is what the second field of /etc/shadow may hold: no password (!, *, *LK*), or a
// hash as crypt(5) has it, which is locked if ! comes before it.
var hash = regexp.MustCompile(`^([!*]+|[*][A-Z]+[*]|!*([$][0-9A-Za-z-]+[$][./0-9A-Za-z$=,+_-]+|_[./0-9A-Za-z]{19}|[./0-9A-Za-z]{13}))$`)

// validatePassword never shows the password: it may be one in plain text.
func validatePassword(a attributes) error {
	switch {
	case a.Password == nil:
		return nil
	case *a.Password == "":
		return errors.New("password is empty, which lets anybody in: give a hash as in /etc/shadow, made with openssl passwd -6, or ! for no password")
	case !hash.MatchString(*a.Password):
		return errors.New("password is no hash as in /etc/shadow, and never the password itself: make one with openssl passwd -6, or give ! for no password")
	case a.Locked != nil && strings.HasPrefix(*a.Password, lock):
		return errors.New("password begins with !, which locks it by itself: remove the !, or remove locked")
	}
	return nil
}

// validateRemoval keeps the superuser from being removed by mistake.
func validateRemoval(a attributes) error {
	if isAbsent(a) && (a.Name == "root" || a.UID != nil && *a.UID == 0) {
		return unconfirmed(a)
	}
	return nil
}

// unconfirmed is why the superuser is not removed, nil if that is confirmed.
func unconfirmed(a attributes) error {
	if a.Confirm != nil && *a.Confirm == a.Name {
		return nil
	}
	return fmt.Errorf("%s is the superuser, without whom a host does not work: to remove the account all the same, set confirm: %s", a.Name, a.Name)
}
