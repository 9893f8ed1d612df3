package bound_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/fettle-dev/fettle/internal/resource"
)

func TestSimpleWriteDispatchesOnEnsure(t *testing.T) {
	ensure := func(is, should string) []resource.Change {
		return []resource.Change{{Property: "ensure", Is: is, Should: should}}
	}
	tests := map[string]struct {
		changes []resource.Change
		want    string
	}{
		"from absent to present":               {ensure("absent", "present"), "create"},
		"from purged to a version":             {ensure("purged", "1.0"), "create"},
		"from nothing known to present":        {ensure("", "present"), "create"},
		"from present to absent":               {ensure("present", "absent"), "delete"},
		"from absent to purged":                {ensure("absent", "purged"), "delete"},
		"from one kind of presence to another": {ensure("file", "directory"), "update"},
		"without a change of ensure":           {[]resource.Change{{Property: "watts", Is: "absent", Should: "7"}}, "update"},
		"to a property that is absent":         {[]resource.Change{{Property: "colour", Is: "red", Should: "absent"}}, "update"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var called []string
			part := func(name string) func(context.Context, resource.Writer, lamp, lamp) error {
				return func(context.Context, resource.Writer, lamp, lamp) error {
					called = append(called, name)
					return nil
				}
			}
			s := resource.Simple[lamp]{Create: part("create"), Delete: part("delete"), Update: func(ctx context.Context, h resource.Writer, is, want lamp, _ []resource.Change) error {
				return part("update")(ctx, h, is, want)
			}}
			must(t, s.Write(t.Context(), nil, lamp{}, lamp{}, test.changes))
			if len(called) != 1 || called[0] != test.want {
				t.Errorf("called are %v, want %s", called, test.want)
			}
		})
	}
}

func TestFailedPropertyDoesNotPreventOthers(t *testing.T) {
	var set []string
	err := resource.OneByOne([]resource.Change{{Property: "colour"}, {Property: "watts"}, {Property: "code"}}, func(property string) error {
		if property == "colour" || property == "code" {
			return errors.New("no power")
		}
		set = append(set, property)
		return nil
	})
	wantError(t, err, "cannot set colour: no power\ncannot set code: no power")
	if _, ok := errors.AsType[*resource.PropertyError](err); !ok || len(set) != 1 {
		t.Errorf("set are %v, error is %T", set, err)
	}
	must(t, resource.OneByOne(nil, func(string) error { return errors.New("no power") }))
}

// A lamp that is made, set a property at a time, and taken away again.
func Example() {
	write := resource.Simple[lamp]{
		Create: func(_ context.Context, _ resource.Writer, _, want lamp) error {
			fmt.Println("hang up", want.Name)
			return nil
		},
		Update: func(_ context.Context, _ resource.Writer, is, want lamp, changes []resource.Change) error {
			err := resource.OneByOne(changes, func(property string) error {
				if property == "watts" {
					fmt.Println("screw in", *want.Watts, "for", *is.Watts)
					return nil
				}
				return errors.New("paint is dry")
			})
			fmt.Println("switch on") // the flush
			return err
		},
		Delete: func(_ context.Context, _ resource.Writer, is, _ lamp) error {
			fmt.Println("take down", is.Name)
			return nil
		},
	}.Write
	is, want := lamp{Name: "desk", Watts: new(40)}, lamp{Name: "desk", Watts: new(7)}
	ctx := context.TODO()
	fmt.Println(write(ctx, nil, lamp{}, want, []resource.Change{{Property: "ensure", Is: "absent", Should: "present"}}))
	fmt.Println(write(ctx, nil, is, want, []resource.Change{{Property: "watts"}, {Property: "colour"}}))
	fmt.Println(write(ctx, nil, is, want, []resource.Change{{Property: "ensure", Is: "present", Should: "absent"}}))
	// Output:
	// hang up desk
	// <nil>
	// screw in 7 for 40
	// switch on
	// cannot set colour: paint is dry
	// take down desk
	// <nil>
}
