package user

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/host"
	"github.com/fettle-dev/fettle/internal/resource"
)

// neverExpires is the expiry of an account that does not expire.
const neverExpires = resource.Absent

// ageing returns the properties for how long a password and its account are valid.
func ageing() []resource.Property[attributes] {
	all := []resource.Property[attributes]{
		resource.Field("passwordMinAge", "The minimum number of days between password changes; 0 and -1 allow a change at any time.",
			func(a *attributes) *int64 { return a.PasswordMinAge }),
		resource.Field("passwordMaxAge", "The number of days after which the password must be changed; -1 means never.",
			func(a *attributes) *int64 { return a.PasswordMaxAge }),
		resource.Field("passwordWarnDays", "The number of days before passwordMaxAge from which the user is warned; -1 means never.",
			func(a *attributes) *int64 { return a.PasswordWarnDays }),
	}
	for i := range all {
		all[i].Feature = managesPasswordAge
	}
	expiry := resource.Field("expiry", "The first day on which nobody can log in to the account, as YYYY-MM-DD; absent for none.",
		func(a *attributes) *string { return a.Expiry })
	expiry.Feature = managesExpiry
	return append(all, expiry)
}

// ages reports whether a resource manages fields of shadow other than the hash.
func ages(a attributes) bool {
	return slices.ContainsFunc(ageing(), func(p resource.Property[attributes]) bool { return p.Managed(a) })
}

// setAgeing sets the attributes from the fields of shadow.
func setAgeing(is *attributes, age accounts.Ageing) {
	is.PasswordMinAge, is.PasswordMaxAge, is.PasswordWarnDays = &age.MinAge, &age.MaxAge, &age.WarnDays
	is.Expiry = new(expiryOn(age.Expiry))
}

const secondsPerDay = 24 * 60 * 60

func expiryOn(day int64) string {
	if day == accounts.Never {
		return neverExpires
	}
	return time.Unix(day*secondsPerDay, 0).UTC().Format(time.DateOnly)
}

// expiryDay is an expiry for the host's tools: the number of the day, because they interpret a date
// in their own time zone and may be a day off. "" means no expiry.
func expiryDay(expiry string) (string, error) {
	if expiry == neverExpires {
		return "", nil
	}
	day, err := time.Parse(time.DateOnly, expiry)
	if err != nil || day.Unix() < 0 {
		return "", fmt.Errorf("expiry %q is not a day from 1970-01-01 on: use YYYY-MM-DD, or %s for none", expiry, neverExpires)
	}
	return strconv.FormatInt(day.Unix()/secondsPerDay, 10), nil
}

// validateExpiry rejects days that no month has, which the schema admits.
func validateExpiry(a attributes) error {
	if a.Expiry == nil {
		return nil
	}
	_, err := expiryDay(*a.Expiry)
	return err
}

// expireOption returns nil if the expiry is not managed. The expiry was validated.
func expireOption(want attributes) []string {
	if want.Expiry == nil {
		return nil
	}
	day, _ := expiryDay(*want.Expiry)
	return []string{"--expiredate", day}
}

// ageOptions returns the options of chage that set one property, or all managed ones if property is
// "".
func ageOptions(want attributes, property string) []string {
	var args []string
	for _, o := range []struct {
		property, option string
		days             *int64
	}{
		{"passwordMinAge", "--mindays", want.PasswordMinAge},
		{"passwordMaxAge", "--maxdays", want.PasswordMaxAge},
		{"passwordWarnDays", "--warndays", want.PasswordWarnDays},
	} {
		if o.days != nil && (property == "" || property == o.property) {
			args = append(args, o.option, strconv.FormatInt(*o.days, 10))
		}
	}
	return args
}

// age runs chage if there are options.
func age(ctx context.Context, h host.Host, want attributes, options []string) error {
	if len(options) == 0 {
		return nil
	}
	args := slices.Concat([]string{"chage"}, options, []string{"--", want.Name})
	return accounts.Run(ctx, h, host.Cmd{Args: args}, accounts.Remedies{15: "the host has no /etc/shadow: create it with pwconv"})
}
