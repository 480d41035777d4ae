package privilege

import "testing"

func TestPlan(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	sudo := func(name string) string { return map[string]string{"SUDO_UID": "4711", "SUDO_GID": "4712"}[name] }
	for _, tt := range []struct {
		name, user string
		euid       int
		getenv     func(string) string
		want       Plan
		fails      bool
	}{
		{"root becomes nobody", "", 0, none, Plan{Name: nobody, UID: 65534, Switch: true}, false},
		{"sudo: who called it", "", 0, sudo, Plan{Name: "4711", UID: 4711, GID: 4712, Switch: true}, false},
		{"named before sudo", "daemon", 0, sudo, Plan{Name: "daemon", UID: 1, Switch: true}, false},
		{"told to stay root", root, 0, none, Plan{Name: root, Stay: true}, false},
		{"root by its number", "0", 0, none, Plan{}, true},
		{"unknown", "no-such-user", 0, none, Plan{}, true},
		{"not root: stays who it is", "", 4711, none, Plan{Name: "4711", UID: 4711}, false},
		{"not root cannot become another", "daemon", 4711, none, Plan{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := NewPlan(tt.user, tt.euid, tt.getenv)
			if (err != nil) != tt.fails {
				t.Fatalf("error: %v", err)
			}
			if tt.fails {
				return
			}
			if got.Name != tt.want.Name || got.UID != tt.want.UID || got.Switch != tt.want.Switch || got.Stay != tt.want.Stay ||
				tt.want.GID != 0 && got.GID != tt.want.GID {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			for _, g := range got.Groups {
				if g == 0 {
					t.Error("the group root is kept")
				}
			}
		})
	}
}
