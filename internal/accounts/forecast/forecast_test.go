package forecast_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fettle-dev/fettle/api/v1alpha1"
	"github.com/fettle-dev/fettle/internal/accounts"
	"github.com/fettle-dev/fettle/internal/accounts/forecast"
	"github.com/fettle-dev/fettle/internal/resource"
)

type (
	user  = v1alpha1.UserAttributes
	group = v1alpha1.GroupAttributes
)

func created[A any](want A) any { return changed(want, "ensure", resource.Absent, resource.Present) }

func removed[A any](want A) any { return changed(want, "ensure", resource.Present, resource.Absent) }

func changed[A any](want A, property, is, should string) any {
	return resource.Write[A]{Want: want, Changes: []resource.Change{{Property: property, Is: is, Should: should}}}
}

func TestForecastFollowsPlannedWrites(t *testing.T) {
	ann := accounts.User{Name: "ann", UID: 1500, GID: 1500, Home: "/home/ann"}
	own := accounts.Group{Name: "ann", GID: 1500}
	web := accounts.Group{Name: "web", GID: 1600, Members: []string{"ann"}}
	for name, test := range map[string]struct {
		planned []any
		users   accounts.Users
		groups  accounts.Groups
	}{
		"a new user gets a group": {
			[]any{created(user{Name: "bob", UID: new(int64(1501))})},
			accounts.Users{ann, {Name: "bob", UID: 1501, GID: -1, Home: "/home/bob"}},
			accounts.Groups{own, web, {Name: "bob", GID: -1}},
		},
		"a removed user leaves its groups, and its own one is removed": {
			[]any{removed(user{Name: "ann"})}, nil, accounts.Groups{{Name: "web", GID: 1600}},
		},
		"a user changes": {
			[]any{changed(user{Name: "ann", UID: new(int64(1502))}, "uid", "1500", "1502")},
			accounts.Users{{Name: "ann", UID: 1502, GID: 1500, Home: "/home/ann"}},
			accounts.Groups{own, web},
		},
		"users follow their group to its new number": {
			[]any{changed(group{Name: "ann", GID: new(int64(1700))}, "gid", "1500", "1700")},
			accounts.Users{{Name: "ann", UID: 1500, GID: 1700, Home: "/home/ann"}},
			accounts.Groups{{Name: "ann", GID: 1700}, web},
		},
		"a group is removed and created again with other members": {
			[]any{removed(group{Name: "web"}), created(group{Name: "web", Members: []string{"root"}})},
			accounts.Users{ann},
			accounts.Groups{own, {Name: "web", GID: -1, Members: []string{"root"}}},
		},
		"other kinds don't count": {[]any{"x"}, accounts.Users{ann}, accounts.Groups{own, web}},
	} {
		t.Run(name, func(t *testing.T) {
			before := forecast.Accounts{
				Users: accounts.Users{ann}, Groups: accounts.Groups{own, web}, Defaults: forecast.Defaults{Homes: "/home", UserGroups: true},
			}
			after := before.Expect(test.planned)
			if diff := cmp.Diff(test.users, after.Users, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("users (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.groups, after.Groups, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(accounts.Users{ann}, before.Users); diff != "" {
				t.Errorf("the original has changed:\n%s", diff)
			}
		})
	}
}
