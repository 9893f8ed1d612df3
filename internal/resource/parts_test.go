package resource_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fettle-dev/fettle/internal/resource"
)

func TestPartsOfAnErrorAreThoseOfEachProperty(t *testing.T) {
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	var got []string
	for _, err := range resource.Parts(errors.Join(errors.Join(a, nil), &resource.PropertyError{Property: "uid", Err: errors.Join(b, c)})) {
		got = append(got, err.Error())
	}
	if diff := cmp.Diff([]string{"a", "cannot set uid: b", "cannot set uid: c"}, got); diff != "" || resource.Parts(nil) != nil {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func TestCertainErrorsAreThoseThatAreNotUnknown(t *testing.T) {
	broken, unknown := errors.New("broken"), &resource.UnknownError{Reason: "runs a command"}
	for want, err := range map[string]error{
		"":                         errors.Join(unknown, &resource.PropertyError{Property: "uid", Err: unknown}),
		"broken":                   errors.Join(unknown, broken),
		"cannot set color: broken": errors.Join(errors.Join(&resource.PropertyError{Property: "color", Err: broken}, unknown)),
	} {
		got := ""
		if err := resource.Certain(err); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
