package exec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
)

// frame is a command without its arguments: its directory, user, environment and timeout. Commands
// and checks share it.
func frame(h host.Reader, a Attributes) (host.Cmd, error) {
	as, err := credentials(h, a)
	if err != nil {
		return host.Cmd{}, err
	}
	cmd := host.Cmd{
		Env: environment(a), BareEnv: true, As: as,
		Timeout: timeout(a.TimeoutSeconds), MaxOutput: maxOutput,
	}
	if a.Cwd != nil {
		cmd.Dir = *a.Cwd
	}
	if a.Umask != nil {
		mask, err := strconv.ParseUint(*a.Umask, 8, 12)
		if err != nil {
			return host.Cmd{}, fmt.Errorf("umask %q is not octal: write it as in \"022\"", *a.Umask)
		}
		cmd.Umask = new(uint32(mask))
	}
	return cmd, nil
}

// environment returns the whole environment of a command.
func environment(a Attributes) []string {
	search := host.SearchPath
	if a.Path != nil {
		search = strings.Join(a.Path, ":")
	}
	return slices.Concat([]string{"PATH=" + search}, a.Environment, a.secret)
}

// unlimited is longer than any command runs.
const unlimited = 100 * 365 * 24 * time.Hour

func timeout(seconds *v1alpha1.Seconds) time.Duration {
	switch {
	case seconds == nil:
		return 300 * time.Second
	case *seconds == 0:
		return unlimited
	}
	return min(seconds.Duration(), unlimited)
}

// nameOrNumber parses a user or a group. A name of digits is a number.
func nameOrNumber(v *intstr.IntOrString) (name string, number int64, isNumber bool) {
	if v == nil {
		return "", 0, false
	}
	n, err := strconv.ParseUint(v.String(), 10, 32)
	return v.String(), int64(n), err == nil
}

// credentials returns the credentials of the desired user and group; nil for the agent's own.
func credentials(h host.Reader, a Attributes) (*host.Credentials, error) {
	if a.User == nil && a.Group == nil {
		return nil, nil
	}
	users, err := accounts.ReadUsers(h)
	if err != nil {
		return nil, err
	}
	groups, err := accounts.ReadGroups(h)
	if err != nil {
		return nil, err
	}
	return credentialsAmong(users, groups, a)
}

// credentialsAmong is credentials on a host with these accounts.
func credentialsAmong(users accounts.Users, groups accounts.Groups, a Attributes) (*host.Credentials, error) {
	if a.User == nil && a.Group == nil {
		return nil, nil
	}
	user, known, err := userOf(users, a.User)
	if err != nil {
		return nil, err
	}
	gid, err := groupOf(groups, a.Group, user, known)
	if err != nil {
		return nil, err
	}
	user.GID = gid
	return new(groups.Login(user)), nil
}

// userOf finds the user; known is false for a number without an account.
func userOf(users accounts.Users, v *intstr.IntOrString) (user accounts.User, known bool, err error) {
	name, uid, isNumber := nameOrNumber(v)
	switch {
	case v == nil:
		user, known = users.Numbered(0)
	case isNumber:
		if user, known = users.Numbered(uid); !known {
			user.UID = uid
		}
	default:
		if user, known = users.Named(name); !known {
			return user, false, fmt.Errorf("user %s does not exist on the host: declare User/%s", name, name)
		}
	}
	return user, known, nil
}

func groupOf(groups accounts.Groups, v *intstr.IntOrString, user accounts.User, known bool) (int64, error) {
	name, gid, isNumber := nameOrNumber(v)
	switch {
	case isNumber:
		return gid, nil
	case v != nil:
		group, ok := groups.Named(name)
		if !ok {
			return 0, fmt.Errorf("group %s does not exist on the host: declare Group/%s", name, name)
		}
		return group.GID, nil
	case !known:
		return 0, fmt.Errorf("user %d does not exist on the host, so its group is unknown: set group, or declare the User", user.UID)
	}
	return user.GID, nil
}
