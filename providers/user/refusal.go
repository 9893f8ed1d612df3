package user

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// hash matches the second field of /etc/shadow: no password (!, *, *LK*), or a hash of crypt(5),
// which is locked if it follows a !.
var hash = regexp.MustCompile(`^([!*]+|[*][A-Z]+[*]|!*([$][0-9A-Za-z-]+[$][./0-9A-Za-z$=,+_-]+|_[./0-9A-Za-z]{19}|[./0-9A-Za-z]{13}))$`)

// validatePassword never shows the value: it may be a password in clear text.
func validatePassword(a attributes) error {
	switch {
	case a.Password == nil:
		return nil
	case *a.Password == "":
		return errors.New("password is empty, so anybody could log in: use a hash as in /etc/shadow, made with openssl passwd -6, or ! for no password")
	case !hash.MatchString(*a.Password):
		return errors.New("password is not a hash as in /etc/shadow: make one with openssl passwd -6, or use ! for no password")
	case a.Locked != nil && strings.HasPrefix(*a.Password, lock):
		return errors.New("password begins with !, which locks it by itself: remove the !, or remove locked")
	}
	return nil
}

// validateRemoval prevents the superuser from being removed by mistake.
func validateRemoval(a attributes) error {
	if isAbsent(a) && (a.Name == "root" || a.UID != nil && *a.UID == 0) {
		return unconfirmed(a)
	}
	return nil
}

// unconfirmed returns the error of removing the superuser; nil if that is confirmed.
func unconfirmed(a attributes) error {
	if a.Confirm != nil && *a.Confirm == a.Name {
		return nil
	}
	return fmt.Errorf("%s is the superuser, without which the host does not work: to remove the account anyway, set confirm: %s", a.Name, a.Name)
}
