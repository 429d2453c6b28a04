package flowtable

import (
	"errors"
	"testing"
)

// equal fails the test when got differs from want.
func equal[T comparable](t testing.TB, want, got T, what ...any) {
	t.Helper()
	if want != got {
		t.Fatalf("want %v, got %v %v", want, got, what)
	}
}

// noErr fails the test on an error.
func noErr(t testing.TB, err error, what ...any) {
	t.Helper()
	if err != nil {
		t.Fatal(err, what)
	}
}

// isErr fails the test unless err is want.
func isErr(t testing.TB, err, want error, what ...any) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("want error %v, got %v %v", want, err, what)
	}
}
