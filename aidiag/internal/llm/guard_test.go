package llm

import (
	"errors"
	"testing"
)

// TestGuard: after the name was resolved, a cloud provider must be outside and a
// local one must be this machine.
func TestGuard(t *testing.T) {
	t.Parallel()
	cloud, local := Base{}, Base{Local: true}
	for _, c := range []struct {
		base    Base
		private bool
		addr    string
		ok      bool
	}{
		{cloud, false, "104.18.7.192:443", true},
		{cloud, false, "[2606:4700::1]:443", true},
		{cloud, false, "127.0.0.1:443", false},
		{cloud, false, "10.0.0.1:443", false},
		{cloud, false, "[fd00::1]:443", false},
		{cloud, false, "100.100.0.1:443", false},
		{cloud, false, "169.254.169.254:443", false},
		{cloud, false, "[::ffff:169.254.169.254]:443", false},
		{cloud, false, "224.0.0.1:443", false},
		{cloud, false, "0.0.0.0:443", false},
		{local, false, "127.0.0.1:11434", true},
		{local, false, "[::1]:11434", true},
		{local, false, "10.0.0.1:11434", false},
		{local, false, "104.18.7.192:11434", false},
		{local, true, "10.0.0.1:8000", true},
		{local, true, "169.254.169.254:80", false},
	} {
		err := guard(c.base, c.private)(c.addr)
		if (err == nil) != c.ok {
			t.Errorf("%+v %s: %v", c.base, c.addr, err)
		}
		if err != nil {
			if _, ok := errors.AsType[*GuardError](err); !ok {
				t.Errorf("%s: %T", c.addr, err)
			}
		}
	}
}
